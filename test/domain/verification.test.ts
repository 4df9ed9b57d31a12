import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { amendClient, expireVerification } from "../../shared/domain/accounts/client.ts";
import { openAccount } from "../../shared/domain/accounts/open-account.ts";
import { requestWithdrawal } from "../../shared/domain/money/request.ts";
import { transferAmount } from "../../shared/domain/money/transfers/transfer.ts";
import type { Client } from "../../shared/domain/records/client.ts";
import type { UpdateClient } from "../../shared/schema/client.ts";
import {
  accepted,
  decisionContext,
  decisionTime,
  refused,
  someAccount,
  someClient,
} from "../support/builders/decisions.ts";

/** Members that a client needs to be submitted. */
const known = { date_of_birth: "1990-01-01", country: "PT" };

const [past, soon] = ["2026-11-21T06:29:59.999Z", "2026-11-21T06:30:00.001Z"];

function verified(expires_at: string | null, more: Partial<Client> = {}): Client {
  const verification = { ...someClient().verification, verified_at: "2026-01-01T00:00:00.000Z", expires_at };
  return someClient({ verification_status: "verified", verification, ...more });
}

/** Answer of each gate of the policy that asks for a verification everywhere. */
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
    const decision = amendClient(client, patch, decisionContext());
    if (!decision.ok) return decision.refusal.code;
    const { result, events } = decision;
    const { verification_status, verification } = result;
    return [verification_status, verification.expires_at, verification.verified_at, events.map(({ type }) => type)];
  };
  const updated = ["client.updated"];
  const again = ["client.verified", "client.updated"];
  const first = "2026-01-01T00:00:00.000Z";

  it("that has ended is made again by asking for it with a new end, or with none", () => {
    const patch = { verification_status: "verified" } as const;
    for (const status of ["verified", "pending", "expired"] as const) {
      const client = verified(past, { verification_status: status });
      expect(refused(amendClient(client, patch, decisionContext())).errors).toMatchObject([
        { pointer: "#/verification/expires_at", code: "required" },
      ]);
      const endless = { ...patch, verification: { expires_at: null } };
      expect(amended(client, endless)).toEqual(["verified", null, decisionTime, again]);
    }
    const until = { ...patch, verification: { expires_at: soon } };
    expect(amended(verified(past), until)).toEqual(["verified", soon, decisionTime, again]);
    expect(amended(verified(soon), patch)).toEqual(["verified", soon, first, []]);
  });

  it("that has ended is the same whether the sweep has stored that or the next change does", () => {
    const later: UpdateClient = { verification: { expires_at: soon } };
    for (const client of [verified(past), verified(past, { verification_status: "expired" })]) {
      expect(amended(client, later)).toEqual(["expired", soon, first, updated]);
      expect(amended(client, { first_name: "Eva" })).toEqual(["expired", past, first, updated]);
      expect(amended(client, { verification_status: "unverified" })).toBe("illegal_transition");
    }
  });

  it("that has ended is not stored by a request that changes nothing", () => {
    const nothing: readonly UpdateClient[] = [
      {},
      { verification_status: "expired" },
      { verification: { expires_at: past } },
    ];
    for (const patch of nothing) expect(amended(verified(past), patch)).toEqual(["verified", past, first, []]);
    const closed = verified(past, { status: "closed", closed_at: first });
    expect(amended(closed, { verification: { expires_at: past } })).toEqual(["verified", past, first, []]);
    expect(amended(closed, { verification: { expires_at: soon } })).toBe("client_closed");
  });

  it("gets no end in the past, whatever the status is", () => {
    for (const expires_at of [past, decisionTime, "2026-11-21T07:30:00.000+01:00"]) {
      const patch: UpdateClient = { verification: { expires_at } };
      expect(amended(verified(soon), patch)).toBe("validation_failed");
      expect(amended(verified(past), { ...patch, verification_status: "verified" })).toBe("validation_failed");
      expect(amended(someClient(), patch)).toBe("validation_failed");
    }
  });

  it("expires at its end and not before, once, with an event, unless the client is closed", () => {
    const expired = (client: Client) => {
      const { result, events } = accepted(expireVerification(client, decisionContext()));
      return [result.verification_status, result.version - client.version, events.map(({ type }) => type)];
    };
    for (const end of [past, decisionTime]) expect(expired(verified(end))).toEqual(["expired", 1, updated]);
    for (const end of [soon, null]) expect(expired(verified(end))).toEqual(["verified", 0, []]);
    expect(expired(verified(past, { verification_status: "expired" }))).toEqual(["expired", 0, []]);
    expect(expired(verified(past, { verification_status: "pending" }))).toEqual(["pending", 0, []]);
    expect(expired(verified(past, { status: "closed", closed_at: past }))).toEqual(["verified", 0, []]);
  });
});

describe("a verification of before", () => {
  const amend = (client: Client, verification: object, status?: "verified" | "pending", scopes?: never[]) =>
    amendClient(
      client,
      { verification, ...(status === undefined ? {} : { verification_status: status }) } as UpdateClient,
      decisionContext(scopes === undefined ? {} : { scopes }),
    );
  const old = { verified_at: "2019-05-01T02:00:00+02:00", expires_at: "2030-05-01T00:00:00Z", provider: "old system" };

  it("is recorded with its own time and end, by whom it is recorded", () => {
    const { result, events } = accepted(amend(someClient(), old, "verified"));
    expect(result).toMatchObject({
      verification_status: "verified",
      verification: {
        verified_at: "2019-05-01T00:00:00.000Z",
        expires_at: "2030-05-01T00:00:00.000Z",
        verified_by: decisionContext().actor.id,
        provider: "old system",
      },
    });
    expect(events.map(({ type }) => type)).toEqual(["client.verified", "client.updated"]);
  });

  it("is corrected without being made again", () => {
    const { result } = accepted(amend(someClient(), old, "verified"));
    const corrected = accepted(amend(result, { verified_at: "2018-01-01T00:00:00Z" }));
    expect(corrected.result.verification).toMatchObject({
      verified_at: "2018-01-01T00:00:00.000Z",
      expires_at: "2030-05-01T00:00:00.000Z",
    });
    expect(corrected.events.map(({ type }) => type)).toEqual(["client.updated"]);
  });

  it("takes the place of one that has ended, whose end is not its own", () => {
    const verification = { verified_at: "2025-01-01T00:00:00Z", expires_at: null };
    const { result } = accepted(amend(verified(past), verification, "verified"));
    expect(result.verification).toMatchObject({ verified_at: "2025-01-01T00:00:00.000Z", expires_at: null });
    expect(accepted(amend(verified(null), {}, "verified")).events).toEqual([]);
  });

  it.each([
    ["of a client who is not verified", someClient(), { verified_at: past }, undefined, "not_allowed"],
    ["of one who becomes pending", someClient(known), { verified_at: past }, "pending", "not_allowed"],
    ["in the future", someClient(), { verified_at: soon }, "verified", "out_of_range"],
    ["that has ended", someClient(), { ...old, expires_at: past }, "verified", "out_of_range"],
  ] as const)("%s is refused", (_, client, verification, status, code) => {
    const { code: problem, errors } = refused(amend(client, verification, status));
    expect([problem, errors?.map((each) => each.code)]).toEqual(["validation_failed", [code]]);
  });

  it("needs the scope of a verification", () => {
    for (const client of [someClient(), verified(null)]) {
      expect(refused(amend(client, { verified_at: past }, "verified", [])).code).toBe("insufficient_scope");
    }
  });
});

type Verification = Client["verification"];

/** A client in this state after a decision that left something in every member. */
function filled(verification_status: Client["verification_status"], more: Partial<Verification> = {}): Client {
  const verification: Verification = {
    ...someClient().verification,
    ...{ level: "basic", provider: "old", reference: "case-1", verified_by: "opr_01JD0000000000000000000001" },
    ...{ verified_at: "2019-05-01T00:00:00.000Z", checks: ["identity_document"], rejection_reasons: ["pep"] },
    ...{ comment: "of before", ...more },
  };
  return someClient({ ...known, verification_status, verification });
}

function afterPatch(client: Client, patch: UpdateClient): Client {
  return accepted(amendClient(client, patch, decisionContext())).result;
}

const me = decisionContext().actor.id;
const cleared = { verified_at: null, verified_by: null, checks: [], rejection_reasons: [], retry_allowed: null };

describe("a decision about an identity", () => {
  it.each([
    ["pending", { ...cleared, submitted_at: decisionTime }],
    ["verified", { ...cleared, verified_at: decisionTime, verified_by: me }],
    ["rejected", { ...cleared, rejection_reasons: ["other"], retry_allowed: true }],
  ] as const)("to %s starts clean, and keeps level, provider, reference and end", (to, expected) => {
    const from = to === "pending" ? "rejected" : "pending";
    const patch: UpdateClient = {
      verification_status: to,
      verification: to === "rejected" ? { rejection_reasons: ["other"] } : { level: "basic" },
    };
    const { verification } = afterPatch(filled(from, { expires_at: soon, retry_allowed: true }), patch);
    expect(verification).toEqual({
      ...{ level: "basic", provider: "old", reference: "case-1", submitted_at: null, expires_at: soon, comment: null },
      ...expected,
    });
  });

  it("has what its request says of it", () => {
    const verification = { checks: ["address", "pep", "address"], comment: "Welcome" } as const;
    const patch = { verification_status: "verified", verification } as unknown as UpdateClient;
    expect(afterPatch(filled("pending"), patch).verification).toMatchObject({
      checks: ["address", "pep"],
      comment: "Welcome",
      rejection_reasons: [],
    });
    const final = { rejection_reasons: ["watchlist_hit"], retry_allowed: false, comment: "No" } as const;
    const rejection = { verification_status: "rejected", verification: final } as unknown as UpdateClient;
    expect(afterPatch(filled("expired"), rejection).verification).toMatchObject({ ...final, checks: [] });
  });

  it("renews a verification: who and which checks are those of the request, once", () => {
    const at = "2026-11-20T00:00:00.000Z";
    const patch: UpdateClient = { verification_status: "verified", verification: { verified_at: at } };
    const { result, events } = accepted(
      amendClient(filled("verified", { expires_at: soon }), patch, decisionContext()),
    );
    expect(result.verification).toMatchObject({
      ...{ ...cleared, verified_at: at, verified_by: me, comment: null },
      ...{ level: "basic", provider: "old", expires_at: soon },
    });
    expect(events.map(({ type }) => type)).toEqual(["client.updated"]);
    expect(accepted(amendClient(result, patch, decisionContext())).changes).toEqual([]);
  });

  it("is corrected without another one: who verified, and which checks passed, stay", () => {
    for (const verification of [{ verified_at: "2018-01-01T00:00:00Z" }, { expires_at: "2031-01-01T00:00:00Z" }]) {
      const { verification: made } = afterPatch(filled("verified"), { verification });
      const { verified_by, checks, comment } = filled("verified").verification;
      expect(made).toMatchObject({ verified_by, checks, comment });
    }
  });

  it.each([
    ["checks", "pending", { checks: ["address"] }, "not_allowed"],
    ["checks", "rejected", { checks: ["address"], rejection_reasons: ["pep"] }, "not_allowed"],
    ["retry_allowed", "verified", { retry_allowed: false }, "not_allowed"],
    ["retry_allowed", "pending", { retry_allowed: true }, "not_allowed"],
    ["rejection_reasons", "verified", { rejection_reasons: ["pep"] }, "not_allowed"],
    ["rejection_reasons", "rejected", {}, "required"],
    ["expires_at", "pending", { expires_at: past }, "out_of_range"],
    ["expires_at", "rejected", { expires_at: past, rejection_reasons: ["pep"] }, "out_of_range"],
    ["verified_at", "rejected", { verified_at: past, rejection_reasons: ["pep"] }, "not_allowed"],
  ] as const)("is refused at %s where that does not go with %s", (member, to, verification, code) => {
    const patch = { verification_status: to, verification } as unknown as UpdateClient;
    const { code: problem, errors } = refused(amendClient(filled("expired"), patch, decisionContext()));
    expect([problem, errors]).toMatchObject(["validation_failed", [{ pointer: `#/verification/${member}`, code }]]);
    expect(errors).toHaveLength(1);
  });

  it("takes no reason from a rejection that stands", () => {
    const client = filled("rejected");
    expect(refused(amendClient(client, { verification: { rejection_reasons: [] } }, decisionContext())).errors).toEqual(
      [expect.objectContaining({ pointer: "#/verification/rejection_reasons", code: "required" })],
    );
  });
});

describe("a final rejection", () => {
  const statuses = ["unverified", "pending", "verified", "rejected", "expired"] as const;
  const step = fc.record(
    {
      verification_status: fc.constantFrom(...statuses),
      verification: fc.record(
        {
          retry_allowed: fc.constantFrom(true, false, null),
          rejection_reasons: fc.constantFrom(["pep" as const], []),
          verified_at: fc.constantFrom("2020-01-01T00:00:00Z"),
          expires_at: fc.constantFrom(null, soon),
          checks: fc.constantFrom(["address" as const]),
          comment: fc.constantFrom("x", null),
        },
        { requiredKeys: [] },
      ),
      first_name: fc.constantFrom("Ana", "Eva"),
      status: fc.constantFrom("active" as const, "suspended" as const),
      suspended_reason: fc.constantFrom("x", null),
    },
    { requiredKeys: [] },
  );

  it("is not ended by any program of requests that may only write clients", () => {
    const context = decisionContext({ scopes: ["clients:write"] });
    let moved = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (program) => {
        const before = filled("rejected", { retry_allowed: false });
        let client = before;
        for (const patch of program) {
          const decision = amendClient(client, patch as unknown as UpdateClient, context);
          if (decision.ok) client = decision.result;
          if (decision.ok && decision.changes.length > 0) moved += 1;
        }
        expect([client.verification_status, client.verification]).toEqual(["rejected", before.verification]);
      }),
      { numRuns: 2000 },
    );
    expect(moved).toBeGreaterThan(100);
  });

  it("is ended by who verifies, to pending or verified; one with a retry by who writes clients", () => {
    const writer = decisionContext({ scopes: ["clients:write"] });
    const final = filled("rejected", { retry_allowed: false });
    const pending: UpdateClient = { verification_status: "pending" };
    expect(refused(amendClient(final, pending, writer))).toMatchObject({
      code: "insufficient_scope",
      extra: { scope: "clients:verify" },
    });
    for (const verification_status of ["pending", "verified"] as const) {
      expect(afterPatch(final, { verification_status }).verification_status).toBe(verification_status);
    }
    const open = filled("rejected", { retry_allowed: true });
    expect(accepted(amendClient(open, pending, writer)).result.verification).toMatchObject(cleared);
  });
});
