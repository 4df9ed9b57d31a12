/** A phrase that is not plain technical English, and what to write in its place. */
export interface Phrase {
  readonly name: string;
  readonly pattern: RegExp;
  readonly instead: string;
}

/** Phrases to avoid. A new one is added with the count that the code has of it. */
export const phrases: readonly Phrase[] = [
  { name: "nobody", pattern: /\bnobody\b/gi, instead: "no client, no caller, without an owner" },
  { name: "whoever", pattern: /\bwhoever\b/gi, instead: "the caller that, regardless of, any" },
  { name: "anew", pattern: /\banew\b/gi, instead: "again, recreated, regenerated" },
  {
    name: "told",
    pattern: /\b(?:is|are|was|were|unless|until it is) told\b/gi,
    instead: "receives, returned, reported",
  },
  { name: "in the eyes of", pattern: /\bin the eyes of\b/gi, instead: "according to, by" },
  { name: "of ours", pattern: /\b(?:of ours|of our own|no \w+ of ours)\b/gi, instead: "of this service, unrecognised" },
  { name: "he", pattern: /\b(?:he|him|his)\b/gi, instead: "they, the caller" },
  { name: "beside", pattern: /\bbeside\b/gi, instead: "in addition to, next to, other than" },
  { name: "side by side", pattern: /\bside by side\b/gi, instead: "concurrently" },
  { name: "what is no", pattern: /\bwhat is no\b/gi, instead: "anything other than" },
];

/**
 * Places in published text that still have a phrase, by a part of the sentence. They are sentences of route rows and of
 * log messages; an entry goes when its sentence is reworded.
 */
export const tolerated: readonly { readonly phrase: string; readonly sentence: string }[] = [
  { phrase: "he", sentence: "the last sequence he saw" },
  { phrase: "beside", sentence: "that of the transaction is booked beside it" },
  { phrase: "beside", sentence: "The one before works beside it" },
  { phrase: "told", sentence: "a day unless told otherwise" },
  { phrase: "anew", sentence: "Begin anew" },
];

/** How often the phrases occur in the files of each folder. These counts may only fall. */
export const counts: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  shared: {
    told: 1,
    "of ours": 5,
    beside: 3,
    "what is no": 2,
  },
  functions: {},
  infra: {
    anew: 2,
    told: 1,
    "of ours": 5,
    beside: 11,
    "what is no": 1,
  },
  test: {
    nobody: 7,
    "of ours": 11,
    beside: 28,
    "side by side": 6,
  },
  "shared/decisions": {},
};

/** The phrases in a text, each with the words around it. */
export function phrasesIn(text: string): { readonly phrase: Phrase; readonly around: string }[] {
  return phrases.flatMap((phrase) =>
    [...text.matchAll(phrase.pattern)].map(({ index, 0: found }) => ({
      phrase,
      around: text
        .slice(Math.max(0, index - 60), index + found.length + 60)
        .replaceAll(/\s+/g, " ")
        .trim(),
    })),
  );
}
