import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Position } from "../../../../shared/domain/records/position.ts";
import { joinedTerms, metricsAt, positionMargin, usedMargin } from "../../../../shared/domain/trading/margin.ts";
import { decimalText, rational } from "../../../../shared/domain/trading/pricing/rational.ts";
import { isWhole } from "../../../../shared/domain/trading/stored-risk.ts";
import { evaluated } from "../../../../shared/domain/trading/watch.ts";
import { limits } from "../../../../shared/limits.ts";
import { decisionContext, decisionTime } from "../../../support/builders/decisions.ts";
import { someMarket, somePosition, someSymbol, tradingAccount } from "../../../support/builders/trading.ts";
import type { TradingDesk } from "../../../support/builders/trading-desk.ts";
import {
  type Act,
  act,
  amending,
  copyOf,
  type Model,
  type Moment,
  modelUsed,
  momentOf,
  names,
  opening,
  type Part,
  Program,
  type State,
  stateOf,
  store,
} from "./margin-program.ts";

/** The shown margin is that of the moment of the balance. */
function expectShown(program: Program, { moment, of }: ReturnType<Program["mixed"]>): void {
  const state = stateOf(program.desk, moment);
  const model = modelUsed(program.moments[of] as Moment, program.models[of] as Model);
  const { used_margin_minor } = metricsAt(program.now, state, decisionTime);
  expect([used_margin_minor, moment.balance.used_margin_minor]).toEqual([model, model]);
  expect(moment.account.leverage).toBe(moment.balance.leverage);
}

/** A commit on it equals the decision on the account as it is, or is refused. */
function expectCommitted(program: Program, moment: Moment): "stored" | "again" {
  const { desk, now } = program;
  const current = program.moments.at(-1) as Moment;
  const read = stateOf(desk, moment);
  const fresh = stateOf(desk, current);
  let outcome: "stored" | "again" = "again";
  const decisions = [
    (state: State) => evaluated(state, now, desk.trades, decisionContext()),
    (state: State) => opening(state, { symbol: "EURUSD", side: "buy", lots: "0.02" }, now),
    (state: State) => amending(state, 7, now),
  ];
  for (const decide of decisions) {
    const copy = copyOf(desk, current);
    const decision = decide(read);
    if (!decision.ok || decision.changes.length === 0) continue;
    try {
      store(copy, decision);
    } catch {
      continue;
    }
    outcome = "stored";
    const other = copyOf(desk, current);
    store(other, decide(fresh));
    const money = ({ balance, risk }: TradingDesk) => ({ balance, risk: { ...risk, updated_at: "" } });
    expect(money(copy)).toEqual(money(other));
    expect(copy.balance.used_margin_minor).toBe(usedMargin(copy.state));
    expect(isWhole(copy.state as State)).toBe(true);
  }
  return outcome;
}

const runs = Number(process.env["MOMENT_RUNS"] ?? "20");
const program = fc.record({
  margin_calculation: fc.constantFrom("sum" as const, "max" as const, "net" as const),
  position_mode: fc.constantFrom("hedging" as const, "netting" as const),
});

describe("the margin of an account whose items are each read before or after their commit", () => {
  it("is never shown or committed otherwise than it was at one moment", () => {
    const told = new Map<string, number>();
    const note = (name: string) => told.set(name, (told.get(name) ?? 0) + 1);
    const property = fc.property(
      program,
      fc.constantFrom("2500.00", "9000000.00"),
      fc.array(act, { minLength: 4, maxLength: 22 }),
      fc.array(fc.nat(1000), { minLength: 97, maxLength: 97 }),
      (fields, money, acts, draws) => {
        const account = new Program(fields, money);
        let drawn = 0;
        const at = () => {
          drawn += 1;
          return draws[drawn % draws.length] ?? 0;
        };
        for (const each of acts) {
          account.run(each);
          const now = account.moments.at(-1) as Moment;
          expect(now.balance.used_margin_minor).toBe(modelUsed(now, account.model));
          expect(isWhole(stateOf(account.desk, now))).toBe(true);
          for (let mix = 0; mix < 24; mix += 1) {
            const read = account.mixed(2 + (mix % 3), at);
            if (!isWhole(stateOf(account.desk, read.moment))) {
              note("read again");
              continue;
            }
            expectShown(account, read);
            note(expectCommitted(account, read.moment));
          }
        }
        for (const name of account.seen) note(name);
      },
    );
    fc.assert(property, { numRuns: runs, seed: 20_261_128 });
    for (const name of ["leverage", "open", "close", "reverse", "price", "read again", "stored", "again"]) {
      expect(told.get(name) ?? 0, name).toBeGreaterThan(2);
    }
  });

  it("of five hundred positions moves with one commit that writes none of them", () => {
    const account = new Program({ margin_calculation: "sum" });
    for (const symbol of names) account.run({ do: "open", symbol, side: "buy", lots: "0.07" });
    const models = [...account.desk.positions.values()];
    for (let more = models.length; more < limits.trading.max_positions - 2; more += 1) {
      const model = models[more % models.length] as Position;
      const trade = account.desk.trades.get(model.trade_id);
      const [id, trade_id] = [`${model.id}${more}`, `${model.trade_id}${more}`];
      account.desk.positions.set(id, { ...model, id, trade_id });
      if (trade !== undefined) account.desk.trades.set(trade_id, { ...trade, id: trade_id, position_id: id });
      (account.model as Map<string, readonly Part[]>).set(id, account.model.get(model.id) ?? []);
    }
    const positions = [...account.desk.positions.values()];
    account.desk.balance = {
      ...account.desk.balance,
      positions: positions.length,
      positions_sum: positions.reduce((sum, { pos_version }) => sum + pos_version, 0),
      used_margin_minor: usedMargin({ ...account.state, positions }),
    };
    account.moments.push(momentOf(account.desk));
    account.models.push(account.model);
    const acts: Act[] = [
      { do: "leverage", to: 20 },
      { do: "open", symbol: "EURUSD", side: "sell", lots: "0.31" },
      { do: "terms", caps: { EURUSD: 5, XAUUSD: null }, factor: "1.5" },
      { do: "open", symbol: "EURUSD", side: "buy", lots: "0.07" },
      { do: "leverage", to: 3 },
      { do: "close", nth: 4, lots: "0.03" },
      { do: "reverse" },
      { do: "leverage", to: 500 },
    ];
    let drawn = 7;
    const at = () => {
      drawn = (drawn * 69_069 + 12_345) % 2_147_483_648;
      return drawn >> 8;
    };
    for (const each of acts) {
      const before = account.desk.positions;
      const items = new Map(before);
      account.run(each);
      if (each.do === "leverage") expect(account.desk.positions).toEqual(items);
      const now = account.moments.at(-1) as Moment;
      expect(now.balance.used_margin_minor).toBe(modelUsed(now, account.model));
      // All items but a few are of one moment: a read in which five hundred are mixed at random is never whole.
      for (let mix = 0; mix < 12; mix += 1) {
        const read = account.mixed(2, mix % 2 === 0 ? at : () => mix % 4);
        if (!isWhole(stateOf(account.desk, read.moment))) continue;
        expectShown(account, read);
        expectCommitted(account, read.moment);
      }
    }
    expect([...account.seen].toSorted()).toEqual(["close", "leverage", "open", "reverse"]);
  });
});

describe("the margin of a position", () => {
  const { account } = tradingAccount("10000.00");

  it("of lots under several caps is the sum of both at every leverage", () => {
    const lots = fc
      .integer({ min: 1, max: 100_000 })
      .map((n) => `${Math.floor(n / 100)}.${`${100 + (n % 100)}`.slice(1)}`);
    const price = fc.integer({ min: 50_000, max: 200_000 }).map((n) => (n / 100_000).toFixed(5));
    const cap = fc.constantFrom(null, 2, 20, 30, 500);
    const part = fc.record({ lots, price, cap });
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 2, maxLength: 6 }),
        fc.constantFrom(1, 3, 20, 33, 500),
        (parts, leverage) => {
          const whole = parts.map(({ lots: own, price: open_price, cap: max_leverage }) => {
            const terms = someMarket({}, [someSymbol("EURUSD", { max_leverage })]);
            return somePosition(account, terms, { symbol: "EURUSD", side: "buy", lots: own, open_price });
          });
          let [raised] = whole as [Position];
          for (const added of whole.slice(1)) {
            const margin_terms = joinedTerms([raised, added]);
            raised = { ...raised, lots: decimalText(rational(raised.lots).add(added.lots), 2), margin_terms };
          }
          expect(new Set(raised.margin_terms.map(({ max_leverage }) => max_leverage)).size).toBe(
            raised.margin_terms.length,
          );
          const sum = whole.reduce((total, position) => total + positionMargin(position, leverage), 0n);
          // Each part is rounded once by itself: by half a unit at most.
          const off = positionMargin(raised, leverage) - sum;
          expect(Number(off < 0n ? -off : off)).toBeLessThanOrEqual(parts.length / 2 + 0.5);
        },
      ),
    );
  });
});
