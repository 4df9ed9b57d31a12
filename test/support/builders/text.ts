import fc from "fast-check";

/** The first code point of the surrogates, and how many there are (Unicode 3.8): no text has one of them alone. */
const surrogates = { first: 0xd800, count: 0x800 } as const;
const last = 0x10ffff - surrogates.count;
const skipped = (code: number) => (code < surrogates.first ? code : code + surrogates.count);
const unit = fc.integer({ min: 0, max: last }).map((code) => String.fromCodePoint(skipped(code)));

/**
 * Any text of at most so many code points: whatever they are, or of ASCII alone, where fast-check has words in store
 * that are members of every object. Its unit `binary` makes both, and fills a map of all code points first, which takes
 * two seconds of a processor.
 */
export function anyText(constraints: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.oneof(fc.string(constraints), fc.string({ unit, ...constraints }));
}
