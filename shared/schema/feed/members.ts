import * as z from "zod/mini";

/**
 * Identifier assigned by a platform, of a deal, a position, an order or a login. Characters that `identifier` rejects
 * are removed instead: platforms pad names with zero bytes, and a deal that is put aside is money that is not booked.
 * White space at the ends is no part of it, as in `identifier`, so that a login is the same on both sides.
 */
export const PlatformId = z.string().check(
  z.overwrite((value) =>
    value
      .toWellFormed()
      .normalize("NFC")
      .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]/gu, "")
      .trim(),
  ),
  z.minLength(1),
  z.maxLength(64),
);

/** Amount that a platform booked, signed as on the account. */
export const SignedMoney = z
  .string()
  .check(
    z.regex(
      /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,3})?$|^-?(?:0|[1-9]\d{0,14})\.\d{4,8}$/,
      "must be a plain decimal such as -6.20",
    ),
  );
