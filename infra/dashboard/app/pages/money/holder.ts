/**
 * Whether two names are of one person, whatever the order of their words, case, accents and punctuation are: "SILVA,
 * Ana" is "Ana Silva". A name that one of them lacks makes them differ: a person looks at it.
 */
export function isSameName(one: string, other: string): boolean {
  const [words, otherWords] = [wordsOf(one), wordsOf(other)];
  return words.length > 0 && words.join(" ") === otherWords.join(" ");
}

function wordsOf(name: string): string[] {
  const plain = name.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).toSorted();
}
