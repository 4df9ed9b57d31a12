/** Logins of the accounts of the test. */
export const logins = ["80001", "80002", "80003"] as const;

/** A deal of the venue of the test, which its seed and number determine. */
export interface Deal {
  readonly login: string;
  readonly side: "buy" | "sell";
  readonly lots: string;
  readonly price: string;
}

function mixed(seed: number, deal: number): number {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(deal, 0xc2b2ae35);
  state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
  state = Math.imul(state ^ (state >>> 12), 0x297a2d39);
  return (state ^ (state >>> 15)) >>> 0;
}

/** The deal of a number, from 1. */
export function dealOf(seed: number, deal: number): Deal {
  const random = mixed(seed, deal);
  return {
    login: logins[random % logins.length] as string,
    side: (random >>> 4) % 2 === 0 ? "buy" : "sell",
    lots: (0.01 * (1 + ((random >>> 6) % 9))).toFixed(2),
    price: (1.1 + ((random >>> 12) % 100) / 100_000).toFixed(5),
  };
}
