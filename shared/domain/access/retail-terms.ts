/** Limits of the settings for a live account of a retail client. */
export interface RetailTerms {
  readonly max_leverage_retail: number;
  /** Percent with two digits. */
  readonly min_stop_out_retail: string;
}

/** The terms of a brokerage that has set none: those of the European Union. */
export const defaultRetailTerms: RetailTerms = { max_leverage_retail: 30, min_stop_out_retail: "50.00" };
