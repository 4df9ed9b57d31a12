import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { triggerUnits } from "../../shared/domain/trading/pricing/quote.ts";
import { rational } from "../../shared/domain/trading/pricing/rational.ts";
import { exposures, orders } from "../../shared/table/entities.ts";

/** A price of so many digits at most, of either sign. */
const priceOf = (digits: number) =>
  fc.oneof(...[10n ** 4n, 10n ** 14n].map((max) => fc.bigInt({ min: -max, max }))).map((units) => {
    const [sign, text] = [units < 0n ? "-" : "", String(units < 0n ? -units : units).padStart(digits + 1, "0")];
    return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
  });
/** A price that is waited for, and one that comes when the symbol has some digits more: often close to each other. */
const pairs = fc.tuple(fc.nat(8), fc.nat(4)).chain(([before, more]) =>
  fc.tuple(priceOf(before), priceOf(before + more), fc.integer({ min: -2, max: 2 })).map(([trigger, other, near]) => {
    const digits = before + more;
    const [whole = "0", fraction = ""] = trigger.split(".");
    const units = BigInt(whole + fraction.padEnd(digits, "0")) + BigInt(near);
    const text = String(units < 0n ? -units : units).padStart(digits + 1, "0");
    const close = digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
    return { trigger, price: near === 2 ? other : `${units < 0n ? "-" : ""}${close}` };
  }),
);

const entry = { tenant_id: "brk_1", account_id: "acc_1", symbol: "WTI", shards: 9 };

describe("a price that is waited for", () => {
  it("is met by exactly the prices beyond it, however many digits its symbol gets, above and below zero", () => {
    fc.assert(
      fc.property(pairs, ({ trigger, price }) => {
        const units = String(triggerUnits(trigger));
        const sortOf = (direction: "dn" | "up") => exposures.keyOf({ ...entry, direction, trigger: units }).sk;
        const [down, up] = [sortOf("dn"), sortOf("up")];
        const falls = rational(price).lte(trigger);
        const rises = rational(price).gte(trigger);
        expect([
          down >= exposures.sortOf(triggerUnits(price)),
          up <= exposures.sortOf(triggerUnits(price) + 1n),
        ]).toEqual([falls, rises]);
        const order = `${orders.waitingAt(trigger)}|01JD0000000000000000000001`;
        expect([order >= orders.waitingAt(price), order <= `${orders.waitingAt(price)}~`]).toEqual([falls, rises]);
      }),
      { numRuns: 5000 },
    );
  });

  it("sorts as it is where all prices of the wire end", () => {
    const ends = ["-999999999999999.999999999999", "-37.63", "0", "0.000000000001", "999999999999999.999999999999"];
    const keys = ends.map(orders.waitingAt);
    expect(keys.toSorted()).toEqual(keys);
    expect(new Set(keys.map(({ length }) => length))).toEqual(new Set([28]));
  });
});
