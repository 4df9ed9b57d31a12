import { createHmac, timingSafeEqual } from "node:crypto";
import { deriveKey } from "../runtime/service-key.ts";

/** Identifies a refresh token in its family. */
export interface RefreshTokenPlace {
  readonly tenant_id: string;
  readonly family_id: string;
  readonly generation: number;
}

const prefix = "rt_";
const ulidCharacters = 26;
const numberBytes = 4;
const macBytes = 32;
const placeBytes = 2 * ulidCharacters + numberBytes;
const form = new RegExp(`^${prefix}[A-Za-z0-9_-]{${Math.ceil(((placeBytes + macBytes) * 4) / 3)}}$`);

/**
 * The refresh token of a place: the place itself and its HMAC-SHA256 under a key of this stage. The same place gives
 * the same token, so the successor of a token can be given again without being stored; without the key none is made.
 */
export async function refreshTokenOf({ tenant_id, family_id, generation }: RefreshTokenPlace): Promise<string> {
  const place = Buffer.alloc(placeBytes);
  place.write(tenant_id.slice(-ulidCharacters) + family_id.slice(-ulidCharacters), "ascii");
  place.writeUInt32BE(generation, 2 * ulidCharacters);
  const mac = createHmac("sha256", await deriveKey("refresh-token"))
    .update(place)
    .digest();
  return prefix + Buffer.concat([place, mac]).toString("base64url");
}

/** The place of a refresh token, compared in constant time; undefined when it was not made with this stage's key. */
export async function readRefreshToken(token: string): Promise<RefreshTokenPlace | undefined> {
  if (!form.test(token)) return undefined;
  const bytes = Buffer.from(token.slice(prefix.length), "base64url");
  const ids = bytes.toString("ascii", 0, 2 * ulidCharacters);
  if (!/^[0-9A-HJKMNP-TV-Z]+$/.test(ids)) return undefined;
  const place: RefreshTokenPlace = {
    tenant_id: `brk_${ids.slice(0, ulidCharacters)}`,
    family_id: `fam_${ids.slice(ulidCharacters)}`,
    generation: bytes.readUInt32BE(2 * ulidCharacters),
  };
  const made = await refreshTokenOf(place);
  return timingSafeEqual(Buffer.from(made), Buffer.from(token)) ? place : undefined;
}
