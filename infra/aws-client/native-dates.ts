/**
 * Takes the place of the SDK's readers and writers of moments, which know RFC 3339, RFC 850 and asctime letter by
 * letter, with Node's own. The services that we call write moments as seconds; only a `Retry-After` may be a date.
 */
type Written = string | number | null | undefined;

function dateOf(value: Written): Date | undefined {
  if (value === null || value === undefined) return undefined;
  const date = new Date(value);
  if (typeof value !== "string" || Number.isNaN(date.getTime())) throw new TypeError("Invalid date-time value");
  return date;
}

/** RFC 7231, as in HTTP headers. */
export const dateToUtcString = (date: Date): string => date.toUTCString();

/** A moment in RFC 3339 in UTC. */
export const parseRfc3339DateTime = dateOf;

/** A moment in RFC 3339 with any offset. */
export const parseRfc3339DateTimeWithOffset = dateOf;

/** A date of an HTTP header. */
export const parseRfc7231DateTime = dateOf;

/** Seconds since 1970, with a fraction. */
export function parseEpochTimestamp(value: Written): Date | undefined {
  if (value === null || value === undefined) return undefined;
  const seconds = typeof value === "string" && value.trim() === "" ? Number.NaN : Number(value);
  if (!Number.isFinite(seconds)) throw new TypeError("Epoch timestamps must be numbers or their text");
  return new Date(Math.round(seconds * 1000));
}
