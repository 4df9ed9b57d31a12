import { mostDecimals } from "../units.ts";

/** A field of a message that cannot be translated, which a person must see. */
export class Unreadable extends Error {
  /**
   * @param tag number of the field
   * @param text its value; undefined when the message has none
   */
  constructor(tag: number, text: string | undefined, reason: string) {
    super(`${tag}=${text ?? ""} ${reason}`);
  }
}

const float = /^([+-]?)(?=\.?\d)(\d*)(?:\.(\d*))?$/;

/**
 * A float of FIX 4.4 as a plain decimal, digit for digit: it may have a sign, zeros before it, and a point without
 * digits before or after it. A trailing zero stays where there is room for it.
 * @throws Unreadable when the text is no float, or has more decimals than the bridge calculates with
 */
export function decimalIn(tag: number, text: string): string {
  const [, sign, digits = "", after = ""] = float.exec(text) ?? [];
  if (sign === undefined) throw new Unreadable(tag, text, "is no decimal");
  const fraction = after.length > mostDecimals ? after.replace(/0+$/, "") : after;
  if (fraction.length > mostDecimals) throw new Unreadable(tag, text, `has more than ${mostDecimals} decimals`);
  const whole = digits.replace(/^0+(?=\d)/, "") || "0";
  const value = fraction === "" ? whole : `${whole}.${fraction}`;
  return sign === "-" && /[1-9]/.test(value) ? `-${value}` : value;
}
