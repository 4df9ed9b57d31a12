/** An answer of a function to a batch of a queue or a stream. */
export interface BatchAnswer {
  batchItemFailures: { itemIdentifier: string }[];
}

/**
 * The answer that has Lambda hand over a part of a batch again: messages of a queue by their identifiers, records of a
 * stream by their sequence numbers. None of them: the whole batch is done.
 */
export function failuresOf(identifiers: Iterable<string>): BatchAnswer {
  return { batchItemFailures: [...identifiers].map((itemIdentifier) => ({ itemIdentifier })) };
}
