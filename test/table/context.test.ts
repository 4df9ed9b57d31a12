import { afterEach, describe, expect, it, vi } from "vitest";
import { moveTransaction } from "../../shared/domain/money/move.ts";
import { newContext } from "../../shared/table/context.ts";
import { transactions } from "../../shared/table/entities.ts";
import { kinds, reason, request } from "../domain/transaction-cases.ts";
import { accepted, decisionContext, someAccount } from "../support/builders/decisions.ts";

describe("the payment provider of the sandbox", () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it.each([
    { stage: "sandbox", due: /^DUE\|PROVIDER\|/ },
    // In production only the sweep of expired transactions runs: one that waited for the provider would never expire.
    { stage: "production", due: /^DUE\|TXN\|/ },
  ])("moves transactions in the sandbox only: $stage", ({ stage, due }) => {
    vi.stubEnv("STAGE", stage);
    const accountContext = someAccount({}, { balance_minor: 100_000n });
    const body = { amount: "1.13", provider: "sandbox", expires_at: "2999-01-01T00:00:00.000Z" };
    for (const kind of kinds) {
      const context = newContext(decisionContext());
      const { result: made } = accepted(request(kind, body, accountContext, context));
      const { result: approved } = accepted(
        moveTransaction(made, accountContext, { status: "approved", reason }, context),
      );
      expect(transactions.indexesOf(made).due_pk).toMatch(due);
      expect(transactions.indexesOf(approved).due_pk).toMatch(due);
    }
  });
});
