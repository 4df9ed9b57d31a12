/** The newest price of a symbol as it is stored. `sequence` is a decimal number of its source that only rises. */
export interface Quote {
  readonly symbol: string;
  readonly bid: string;
  readonly ask: string;
  /** The source's clock. */
  readonly time: string;
  /** Ours. */
  readonly received_at: string;
  readonly sequence: string;
  readonly source: string;
  /** Set by the sandbox's market alone: the price stands until another one comes, however old it is (ADR 0023). */
  readonly held?: true;
  readonly session_open: string | null;
  readonly day_high: string | null;
  readonly day_low: string | null;
  /** The last number of each source that quoted the symbol, by its name. */
  readonly marks: Readonly<Record<string, SourceMark>>;
  /** The price that the bounds of the day are measured from. */
  readonly reference: string;
  /** The last price, when it was too far from this one and nothing has confirmed it yet, and when it came. */
  readonly aside?: { readonly bid: string; readonly ask: string; readonly received_at: string };
  /** Shards of the exposure index that the symbol uses; absent until the first look for this quote has counted them. */
  readonly exposure_shards?: number;
  /** Rises with every write of the item. */
  readonly version: number;
}

/** The last number that a source sent for a symbol, whatever became of it, and the epoch that it belongs to. */
export type SourceMark = readonly [epoch: number, sequence: string];
