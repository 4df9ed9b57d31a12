import { mostDecimals } from "../units.ts";
import type { FixFields } from "./parse.ts";

/** A field of a message that cannot be translated, which a person must see. */
export class Unreadable extends Error {
  readonly tag: number;
  /** SessionRejectReason (373). */
  readonly code: number;

  /**
   * @param tag number of the field
   * @param text its value; undefined when the message has none
   * @param code SessionRejectReason (373): by default that a required tag is missing, or that its value is wrong
   */
  constructor(tag: number, text: string | undefined, reason: string, code = text === undefined ? 1 : 5) {
    super(`${tag}=${text ?? ""} ${reason}`);
    this.tag = tag;
    this.code = code;
  }
}

/** Refuses a message in which one of the tags is there twice: it does not say which of the two it means. */
export function mustBeSingle(fields: FixFields, tags: readonly number[]): void {
  const tag = fields.repeated(tags);
  if (tag !== undefined) throw new Unreadable(tag, fields.get(tag), "is there twice", 13);
}

/** The entries of a repeating group, which are as many as its count says. */
export function entriesOf(fields: FixFields, count: number): readonly FixFields[] {
  mustBeSingle(fields, [count]);
  const text = fields.get(count);
  const entries = Number(text ?? 0) === 0 ? [] : fields.entries(count);
  if (Number(text ?? 0) === entries.length) return entries;
  throw new Unreadable(count, text, `does not count the ${entries.length} entries of its group`, 16);
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
