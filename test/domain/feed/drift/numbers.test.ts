import { describe, expect, it } from "vitest";
import { closeDeal, openDeal } from "../../../../shared/domain/feed/deals.ts";
import { applyOperation } from "../../../../shared/domain/feed/join-operation.ts";
import { decisionContext } from "../../../support/builders/decisions.ts";
import { desk, market, opening, origin, unknown } from "../../feed-cases.ts";
import { nothingKnown, operation, outcome, platformAccount, transactionOf } from "../../platform-money-cases.ts";

const cause = (feed_seq: string) => ({ source_id: origin.source.id, feed_seq });
const item = (feed_seq: string) => decisionContext({ cause: cause(feed_seq) });

/** An operation that the item of this number reports. */
function reported(accountContext: Parameters<typeof outcome>[0], amount: string, links: object) {
  const decision = applyOperation(
    { ...accountContext, floating_minor: 0n },
    operation("adjustment", amount),
    { ...nothingKnown(accountContext.tenant), ...links },
    origin,
    item("7"),
  );
  if (!decision.ok) throw new Error(decision.refusal.detail);
  return outcome(accountContext, decision.changes as never);
}

describe("an effect of a feed keeps the number of the item that caused it", () => {
  it("on a position, which is named as its source names it, and on every entry of a deal", () => {
    const book = desk();
    book.apply(openDeal(book.state, market, opening({ commission: "-3.50" }), unknown, origin, item("5")));
    expect(book.open().position).toMatchObject({ source_position_id: "P-1", feed_seq: "5" });
    const links = { trade: book.open().trade, order_id: null };
    const part = { action: "close", deal_id: "D-2", position_id: "P-1", price: "1.10010", lots: "0.40" } as const;
    book.apply(closeDeal(book.state, market, part, links, origin, item("9")));
    expect(book.open().position).toMatchObject({ source_position_id: "P-1", feed_seq: "9" });
    expect(book.ledger.map(({ source_id, feed_seq }) => [source_id, feed_seq])).toEqual(
      ["5", ...Array(book.ledger.length - 1).fill("9")].map((seq) => [origin.source.id, seq]),
    );
  });

  it("and loses it with a later change that no item caused", () => {
    const book = desk();
    book.apply(openDeal(book.state, market, opening(), unknown, origin, item("5")));
    const links = { trade: book.open().trade, order_id: null };
    const part = { action: "close", deal_id: "D-2", position_id: "P-1", price: "1.10010", lots: "0.40" } as const;
    book.apply(closeDeal(book.state, market, part, links, origin, decisionContext()));
    expect(book.open().position.feed_seq).toBeUndefined();
    expect(book.ledger.at(-1)).not.toHaveProperty("feed_seq");
  });

  it("on an operation that is booked, and on one that is joined with money that was booked before", () => {
    const booked = reported(platformAccount(), "10.00", {});
    expect(booked.ledger).toMatchObject([cause("7")]);
    expect(booked.transaction?.platform_operations).toMatchObject([{ feed_seq: "7" }]);
    const { accountContext, transaction } = transactionOf("deposit", { amount: "100.00", status: "completed" });
    const joined = reported(accountContext, "100.00", { named: transaction });
    expect(joined.ledger).toEqual([]);
    expect(joined.transaction?.platform_operations).toMatchObject([{ feed_seq: "7" }]);
  });

  it("on the entry that a join makes of a transaction that was still open", () => {
    const { accountContext, transaction } = transactionOf("deposit", { amount: "100.00" });
    const joined = reported(accountContext, "100.00", { named: transaction });
    expect(joined.ledger).toMatchObject([cause("7")]);
    expect(joined.transaction?.platform_operations).toMatchObject([{ feed_seq: "7" }]);
  });
});
