import fc from "fast-check";
import type { TestCaller } from "../support/emulator/request.ts";
import type { Books, Call, Intent } from "./model-books.ts";

/** One command of a program. Numbers choose among what there is when its turn comes, so any part of a program runs. */
export interface Command {
  /** Number of the brokerage among the three. */
  readonly tenant: number;
  /** Number of the application among its two. */
  readonly application: number;
  /** Resource that it acts on, counted from the newest. */
  readonly target: number;
  /** It names what belongs to the next brokerage. */
  readonly foreign: boolean;
  /** It is sent under a key, sometimes twice at once. */
  readonly keyed: "no" | "once" | "twice";
  readonly act: Act;
}

/** Effect of a command; the intents of the model without their identifiers. */
export type Act =
  | { readonly do: "create_client"; readonly email: number; readonly external_id: number | null }
  | Without<"client_status", "client">
  | Without<"verification", "client">
  | Without<"open_account", "client">
  | Without<"account_status", "account">
  | Without<"trading_mode", "account">
  | (Omit<Extract<Intent, { do: "book" }>, "account" | "external_id"> & { readonly external_id: number | null })
  | (Omit<Extract<Intent, { do: "move" }>, "transaction" | "if_version"> & { readonly if_version: number | null })
  | Without<"settings", never>
  | { readonly do: "replay"; readonly nth: number; readonly altered: boolean }
  | { readonly do: "read"; readonly list: number };

type Without<D extends Intent["do"], K extends string> = Omit<Extract<Intent, { do: D }>, K>;

/** Commands of one step are sent at once. */
export type Step = readonly Command[];

/** A program: its steps one after the other. */
export type Program = readonly Step[];

export const lists = [
  "/clients?limit=100",
  "/accounts?limit=100",
  "/transactions?limit=100",
  "/transactions?status=pending,approved,processing&limit=100",
  "/events?limit=100",
  "/settings",
  "/clients?sort=created_at&limit=2",
] as const;

/** A value one time in so many, else null. */
function sometimes<T>(times: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: times - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
}

const amounts = fc.bigInt(1n, 40_000n);

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("create_client" as const),
      email: fc.nat(5),
      external_id: sometimes(3, fc.nat(3)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("client_status" as const),
      to: fc.constantFrom("active" as const, "active" as const, "suspended" as const, "closed" as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("verification" as const),
      to: fc.constantFrom("verified" as const, "pending" as const, "rejected" as const, "unverified" as const),
      details: fc.boolean(),
      reasons: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("open_account" as const),
      type: fc.constantFrom("live" as const, "demo" as const),
      currency: fc.constantFrom("USD" as const, "JPY" as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("account_status" as const),
      to: fc.constantFrom("active" as const, "active" as const, "disabled" as const, "closed" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("trading_mode" as const),
      to: fc.constantFrom("full" as const, "full" as const, "close_only" as const, "none" as const),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant("book" as const),
      kind: fc.constantFrom("deposit" as const, "withdrawal" as const),
      amount: amounts,
      fee: fc.oneof({ weight: 3, arbitrary: fc.constant(0n) }, { weight: 1, arbitrary: fc.bigInt(0n, 500n) }),
      completed: fc.oneof({ weight: 2, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
      external_id: sometimes(5, fc.nat(4)),
      imprecise: fc.nat(19).map((each) => each === 19),
    }),
  },
  {
    weight: 18,
    arbitrary: fc.record({
      do: fc.constant("move" as const),
      to: fc.constantFrom(
        ...(["approved", "processing", "completed", "completed", "returned", "returned"] as const),
        ...(["approved", "processing", "failed", "failed"] as const),
        ...(["rejected", "cancelled", "pending"] as const),
      ),
      reason: fc.nat(9).map((each) => each < 9),
      force: fc.boolean(),
      keep_fee: fc.boolean(),
      if_version: sometimes(4, fc.nat(3)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("settings" as const),
      four_eyes: fc.boolean(),
      require: fc.constantFrom("none" as const, "none" as const, "withdrawal" as const, "live_account" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("replay" as const),
      nth: fc.nat(20),
      altered: fc.nat(3).map((each) => each === 3),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("read" as const), list: fc.nat(lists.length - 1) }) },
);

const command: fc.Arbitrary<Command> = fc.record({
  tenant: fc.constantFrom(0, 0, 0, 0, 1, 1, 2),
  application: fc.constantFrom(0, 0, 1),
  target: fc.nat(3),
  foreign: fc.nat(24).map((each) => each === 24),
  keyed: fc.constantFrom("no" as const, "once" as const, "once" as const, "twice" as const),
  act,
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(command) },
  { weight: 1, arbitrary: fc.array(command, { minLength: 2, maxLength: 3 }) },
);

/** Programs of up to 20 steps. */
export const programs: fc.Arbitrary<Program> = fc.array(step, { minLength: 4, maxLength: 20, size: "max" });

export interface Tenant {
  readonly callers: readonly TestCaller[];
  readonly canary: string;
  books: Books;
  /** Calls that were sent under a key. */
  readonly keyed: Sent[];
}

export interface Sent extends Call {
  readonly tenant: Tenant;
  readonly method: string;
  readonly address: string;
  readonly body: string | undefined;
  readonly if_match: string | undefined;
}
