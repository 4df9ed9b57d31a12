import { describe, expect, it } from "vitest";
import { shardsAfter, shardsRead, shardsWritten } from "../../../shared/domain/trading/exposure.ts";
import { limits } from "../../../shared/limits.ts";

const { exposure_shards: most, first_exposure_shards: least, met_per_exposure_shard: perShard } = limits.trading;

describe("the number of shards on a quote", () => {
  it("begins with the least, or with all where they are used, and rises with what a look meets", async () => {
    const numberAfter = (number: number | undefined, met: number, used = false) =>
      shardsAfter(number === undefined ? {} : { exposure_shards: number }, met, async () => used);
    expect(await numberAfter(undefined, 0)).toBe(least);
    expect(await numberAfter(undefined, 0, true)).toBe(most);
    expect(await numberAfter(least, least * perShard)).toBe(least);
    expect(await numberAfter(least, least * perShard + 1)).toBe(least + 1);
    expect(await numberAfter(least, 10_000)).toBe(most);
    expect(await numberAfter(5, 0)).toBe(5);
  });

  it("without one is read as all and written as the least, so that neither side needs the other", () => {
    expect([shardsRead({}), shardsWritten({}), shardsWritten(undefined)]).toEqual([most, least, least]);
  });
});

/** Planted faults, to see that the orders below find them. */
type Fault =
  | "none"
  | "remembers"
  | "overwrites the growth"
  | "looks by a number of before"
  | "grows after the exposure";

interface Quote {
  readonly price: number;
  readonly version: number;
  readonly exposure_shards?: number;
}

interface State {
  quote: Quote;
  /** The stream: an image of each write of the quote, and how many of them were looked at. */
  readonly stream: readonly Quote[];
  readonly looked: number;
  /** Where the account of the decision waits; `at` is the length of the stream when it was stored. */
  readonly entry?: { readonly trigger: number; readonly shard: number };
  /** Whether a look by the number, or one in all shards, found the account at the last price. */
  readonly found: boolean;
  readonly foundInAll: boolean;
  /** Knowledge of each actor. */
  readonly known: Readonly<Record<string, Quote | undefined>>;
}

type Step = (state: State) => State;

/** The account is in the last shard of as many as there are: the first that a lower number misses. */
const shardOf = (shards: number) => shards - 1;
const trigger = 90;

const written = (state: State, quote: Quote): State => ({ ...state, quote, stream: [...state.stream, quote] });
const knows = (state: State, who: string): State => ({ ...state, known: { ...state.known, [who]: state.quote } });

/** A publisher reads the quote, and puts its price in the place of what it read, three times at the most. */
function publisher(who: string, price: number, fault: Fault): Step[] {
  const put: Step = (state) => {
    const read = state.known[who];
    const isSame = state.quote.version === read?.version || fault === "overwrites the growth";
    if (read === undefined || !isSame) return knows(state, who);
    const { exposure_shards } = read;
    const kept = exposure_shards === undefined ? {} : { exposure_shards };
    return {
      ...written(state, { ...kept, price, version: read.version + 1 }),
      known: { ...state.known, [who]: undefined },
    };
  };
  const again: Step = (state) => (state.known[who] === undefined ? state : put(state));
  return [(state) => knows(state, who), put, again];
}

/** A look that has met many raises the number, or finds that there is none yet. */
function grower(to: number): Step[] {
  return [
    (state) => {
      const { exposure_shards: number, ...quote } = state.quote;
      if (number !== undefined && number >= to) return state;
      return written(state, { ...quote, exposure_shards: to, version: quote.version + 1 });
    },
  ];
}

/** A decision reads the quote, and stores its entry in the shards that stand there; it reads the newest price then. */
function committer(fault: Fault, remembered: number): Step[] {
  return [
    (state) => knows(state, "committer"),
    (state) => {
      const read = state.known["committer"] ?? state.quote;
      const shards = fault === "remembers" || fault === "grows after the exposure" ? remembered : shardsWritten(read);
      return { ...state, entry: { trigger, shard: shardOf(shards) } };
    },
  ];
}

/** The next record of the stream, in their order; a price returns what waits at the moment of the look. */
function look(fault: Fault): Step {
  let before: Quote | undefined;
  return (state) => {
    const image = state.stream[state.looked];
    if (image === undefined) return state;
    const by = fault === "looks by a number of before" ? (before ?? { exposure_shards: least }) : image;
    before = image;
    const meets = state.entry !== undefined && image.price <= state.entry.trigger;
    const isLast = state.looked === state.stream.length - 1;
    const reached = (state.entry?.shard ?? most) < shardsRead(by);
    return {
      ...state,
      looked: state.looked + 1,
      found: (isLast ? false : state.found) || (meets && reached),
      foundInAll: (isLast ? false : state.foundInAll) || meets,
    };
  };
}

/** All orders of the steps of several actors, each in its own order; any of them may die before any of its steps. */
function* orders(actors: readonly (readonly Step[])[]): Generator<readonly Step[]> {
  const open = actors.filter((steps) => steps.length > 0);
  yield [];
  for (const [place, actor] of open.entries()) {
    const [step, ...rest] = actor;
    if (step === undefined) continue;
    for (const more of orders(open.with(place, rest))) yield [step, ...more];
  }
}

/** In how many orders an account waits for the last price and is found in all shards, and is not by the number. */
function lost(
  start: Quote,
  fault: Fault,
  to = 3,
): { readonly lost: number; readonly found: number; readonly tried: number } {
  const counted = { lost: 0, found: 0, tried: 0 };
  const actors = () => [publisher("one", 80, fault), grower(to), committer(fault, to), [look(fault), look(fault)]];
  for (const order of orders(actors())) {
    let state: State = { quote: start, stream: [], looked: 0, found: false, foundInAll: false, known: {} };
    for (const step of order) state = step(state);
    // The stream is looked at to its end, whichever actor died: a record that fails comes again.
    const rest = look(fault);
    while (state.looked < state.stream.length) state = rest(state);
    counted.tried += 1;
    const waits = state.entry !== undefined && state.quote.price <= state.entry.trigger;
    if (waits && state.found) counted.found += 1;
    if (waits && state.foundInAll && !state.found) counted.lost += 1;
  }
  return counted;
}

describe("growth, an exposure, a price and its look", () => {
  const begun: Quote = { price: 100, version: 1, exposure_shards: least };
  const { exposure_shards: _none, ...unnumbered } = begun;

  it.each([
    ["a number", begun],
    ["no number yet", unnumbered],
  ] as const)("lose no account in any order and with any death, where the quote has %s", (_name, start) => {
    const { tried, found, lost: missed } = lost(start, "none", start === begun ? 3 : least);
    expect(missed).toBe(0);
    expect(found).toBeGreaterThan(100);
    expect(tried).toBeGreaterThan(1_000);
  });

  it.each(["remembers", "overwrites the growth", "looks by a number of before", "grows after the exposure"] as const)(
    "would lose some where somebody %s",
    (fault) => {
      expect(lost(begun, fault).lost).toBeGreaterThan(0);
    },
  );
});
