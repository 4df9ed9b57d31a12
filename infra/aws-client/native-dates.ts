/**
 * Takes the place of the SDK's readers and writers of moments, which know RFC 3339, RFC 850 and asctime letter by
 * letter: of a client, only the date of a `Retry-After` header is read by them, which Node reads as well.
 */
export const parseRfc7231DateTime = (text: string): Date => new Date(text);

function unsupported(): never {
  throw new Error("This form of a moment is not in this bundle.");
}

export {
  unsupported as dateToUtcString,
  unsupported as parseEpochTimestamp,
  unsupported as parseRfc3339DateTime,
  unsupported as parseRfc3339DateTimeWithOffset,
};
