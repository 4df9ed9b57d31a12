import { describe, expect, it } from "vitest";
import { amendClient, type Client } from "../../shared/domain/client.ts";
import { transferAmount } from "../../shared/domain/internal-money/transfer.ts";
import { openAccount } from "../../shared/domain/open-account.ts";
import { requestWithdrawal } from "../../shared/domain/request-transaction.ts";
import type { UpdateClient } from "../../shared/schema/client.ts";
import { accepted, decisionContext, decisionTime, someAccount, someClient } from "../support/builders/decisions.ts";

const [past, soon] = ["2026-11-21T06:29:59.999Z", "2026-11-21T06:30:00.001Z"];

function verified(expires_at: string | null, more: Partial<Client> = {}): Client {
  const verification = { ...someClient().verification, verified_at: "2026-01-01T00:00:00.000Z", expires_at };
  return someClient({ verification_status: "verified", verification, ...more });
}

/** What the policy that asks for a verification everywhere says at each of its gates. */
function gates(client: Client) {
  const on = someAccount({}, { balance_minor: 100_000n });
  const other = someAccount({ id: "acc_01JD0000000000000000000009" });
  const tenant = { ...on.tenant, require_verified_client: "live_account" } as const;
  const withdrawal = { account_id: on.account.id, amount: "1" };
  return [
    requestWithdrawal(client, { ...on, tenant }, withdrawal, decisionContext()),
    transferAmount({ tenant, client, from: on, to: other }, { amount: "1" }, decisionContext()),
    openAccount(client, tenant, { client_id: client.id }, decisionContext()),
  ].map((decision) => (decision.ok ? "ok" : decision.refusal.code));
}

describe("a verification", () => {
  it.each([
    ["without an end", null, "ok"],
    ["that ends in a millisecond", soon, "ok"],
    ["that ends now", decisionTime, "client_not_verified"],
    ["that has ended", past, "client_not_verified"],
  ] as const)("%s counts at every gate of the policy until its end: %s is %s", (_, expires_at, answer) => {
    expect(gates(verified(expires_at))).toEqual([answer, answer, answer]);
  });

  it("of a closed client counts as it was at the closing, since the client cannot be verified again", () => {
    const closed = (closed_at: string) => gates(verified(past, { status: "closed", closed_at }));
    expect(closed("2026-11-20T00:00:00.000Z")).toEqual(["ok", "client_closed", "client_closed"]);
    expect(closed(past)).toEqual(["client_not_verified", "client_closed", "client_closed"]);
  });

  const amended = (client: Client, patch: UpdateClient) => {
    const { result, events } = accepted(amendClient(client, patch, decisionContext()));
    const { verification_status, verification } = result;
    return [verification_status, verification.expires_at, verification.verified_at, events.map(({ type }) => type)];
  };
  const renewed = ["client.updated"];
  const first = "2026-01-01T00:00:00.000Z";

  it("that has ended is made again by asking for it, and the end of before is not that of the new one", () => {
    const patch = { verification_status: "verified" } as const;
    expect(amended(verified(past), patch)).toEqual(["verified", null, decisionTime, renewed]);
    expect(amended(verified(past, { verification_status: "pending" }), patch)).toEqual([
      ...["verified", null, decisionTime],
      ["client.verified", "client.updated"],
    ]);
    const until = { ...patch, verification: { expires_at: soon } };
    expect(amended(verified(past), until)).toEqual(["verified", soon, decisionTime, renewed]);
    expect(amended(verified(soon), patch)).toEqual(["verified", soon, first, []]);
  });

  it("that has ended counts again with a later end, and is the same after another change", () => {
    expect(amended(verified(past), { verification: { expires_at: soon } })).toEqual([
      ...["verified", soon, first],
      renewed,
    ]);
    expect(amended(verified(past), { first_name: "Eva" })).toEqual(["verified", past, first, ["client.updated"]]);
  });
});
