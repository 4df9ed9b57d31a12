import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { amendClient, clientBody, isUnderage, openClient } from "../../shared/domain/accounts/client.ts";
import { mergeMetadata } from "../../shared/domain/kernel/metadata.ts";
import type { Client } from "../../shared/domain/records/client.ts";
import { limits } from "../../shared/limits.ts";
import type { UpdateClient } from "../../shared/schema/client.ts";
import type { Scope } from "../../shared/schema/scope.ts";
import {
  accepted,
  allScopesBut,
  changesOf,
  decisionContext,
  decisionTime,
  personKey,
  refused,
  someClient,
} from "../support/builders/decisions.ts";

const smallest = { email: "ana@example.com", first_name: "Ana", last_name: "Silva" };

describe("opening a client", () => {
  it.each([
    ["no name at all", { email: "a@b.co" }, ["#/first_name", "#/last_name"]],
    ["no name but a middle one", { email: "a@b.co", middle_name: "B" }, ["#/first_name", "#/last_name"]],
    ["names of null", { email: "a@b.co", first_name: null, last_name: null }, ["#/first_name", "#/last_name"]],
    ["a company without its name", { email: "a@b.co", type: "corporate", first_name: "Ana" }, ["#/company_name"]],
  ] as const)("refuses %s and names every missing field", (_, request, pointers) => {
    const refusal = refused(openClient({ ...request }, personKey, decisionContext()));
    expect(refusal.code).toBe("validation_failed");
    expect(refusal.errors?.map(({ pointer, code }) => [pointer, code])).toEqual(
      pointers.map((pointer) => [pointer, "required"]),
    );
  });

  it("takes email and names, and fills in every default", () => {
    const { result, events } = accepted(openClient(smallest, personKey, decisionContext()));
    expect(result).toMatchObject({
      type: "individual",
      language: "en",
      time_zone: "UTC",
      classification: "retail",
      risk_level: "low",
      tags: [],
      status: "active",
      verification_status: "unverified",
      verification: { level: "none", verified_at: null, rejection_reasons: [] },
      account_count: 0,
      open_accounts: 0,
      created_at: decisionTime,
      updated_at: decisionTime,
      version: 1,
      metadata: {},
    });
    expect(events).toEqual([
      {
        type: "client.created",
        resource: { type: "client", id: result.id, version: 1 },
        client_id: result.id,
        account_id: null,
        object: clientBody(result),
      },
    ]);
  });

  it("shows nothing of what is internal", () => {
    const body = clientBody(someClient());
    expect(Object.keys(body)).not.toContain("tenant_id");
    expect(Object.keys(body)).not.toContain("open_accounts");
  });

  it("claims the email always, and the external id when there is one, for the new client", () => {
    const plain = accepted(openClient(smallest, personKey, decisionContext()));
    expect(changesOf(plain.changes, "claim")).toEqual([
      expect.objectContaining({ kind: "client_email", value: smallest.email, owner: plain.result.id }),
    ]);
    const named = accepted(openClient({ ...smallest, external_id: "crm-1" }, personKey, decisionContext()));
    expect(changesOf(named.changes, "claim").map(({ kind, value, refusal }) => [kind, value, refusal.code])).toEqual([
      ["client_email", smallest.email, "email_taken"],
      ["client_external_id", "crm-1", "external_id_taken"],
    ]);
  });

  it.each([
    ["the day before the 18th birthday", "2008-11-22", true],
    ["on the 18th birthday", "2008-11-21", false],
    ["the day after it", "2008-11-20", false],
  ] as const)("takes no minor: %s", (_, birth, tooYoung) => {
    const decision = openClient({ ...smallest, date_of_birth: birth }, personKey, decisionContext());
    expect(decision.ok).toBe(!tooYoung);
    if (tooYoung) expect(refused(decision).code).toBe("client_underage");
  });

  it.each([
    ["2008-11-21", "2026-11-20T23:59:59.999Z", true],
    ["2008-11-21", "2026-11-21T00:00:00.000Z", false],
    ["2008-02-29", "2026-02-28T23:59:59.999Z", true],
    ["2008-02-29", "2026-03-01T00:00:00.000Z", false],
    ["2008-12-31", "2026-12-30T12:00:00.000Z", true],
    ["2008-12-31", "2026-12-31T00:00:00.000Z", false],
  ])("somebody born on %s is at %s a minor: %s", (birth, now, minor) => {
    expect(isUnderage(birth, now)).toBe(minor);
  });
});

type Verification = Client["verification_status"];
const verifications: Verification[] = ["unverified", "pending", "verified", "rejected", "expired"];

/** The arrows of a verification as the documentation has them: which scope each needs. */
const arrows: [Verification, Verification, Scope][] = [
  ["unverified", "pending", "clients:write"],
  ["unverified", "verified", "clients:verify"],
  ["unverified", "rejected", "clients:verify"],
  ["pending", "verified", "clients:verify"],
  ["pending", "rejected", "clients:verify"],
  ["pending", "unverified", "clients:write"],
  ["verified", "pending", "clients:verify"],
  ["verified", "rejected", "clients:verify"],
  ["rejected", "pending", "clients:write"],
  ["rejected", "verified", "clients:verify"],
  ["expired", "pending", "clients:write"],
  ["expired", "verified", "clients:verify"],
  ["expired", "rejected", "clients:verify"],
];

const pairs = verifications.flatMap((from) => verifications.map((to) => [from, to] as const));
const arrowOf = (from: Verification, to: Verification) => arrows.find(([a, b]) => a === from && b === to);

/** A patch that has all that any arrow to this state needs. */
function fullPatch(to: Verification): UpdateClient {
  return {
    verification_status: to,
    ...(to === "rejected" ? { verification: { rejection_reasons: ["pep"] } } : {}),
  };
}

function clientIn(state: Verification): Client {
  return someClient({ verification_status: state, date_of_birth: "1990-01-01", country: "PT" });
}

describe("the verification of a client", () => {
  it.each(pairs.filter(([from, to]) => from !== to && arrowOf(from, to) === undefined))(
    "cannot go from %s to %s, and the refusal tells where it can go",
    (from, to) => {
      const refusal = refused(amendClient(clientIn(from), fullPatch(to), decisionContext()));
      const allowed = arrows.filter(([a]) => a === from).map(([, b]) => b);
      expect(refusal.code).toBe("illegal_transition");
      expect(refusal.extra).toMatchObject({ from, to });
      expect(new Set(refusal.extra?.["allowed"] as string[])).toEqual(new Set(allowed));
    },
  );

  it.each(arrows)("from %s to %s needs the scope %s", (from, to, scope) => {
    const client = clientIn(from);
    const missing: Scope[] = scope === "clients:verify" ? ["clients:verify"] : ["clients:verify", "clients:write"];
    const poor = amendClient(client, fullPatch(to), decisionContext({ scopes: allScopesBut(...missing) }));
    if (scope === "clients:verify") expect(refused(poor)).toMatchObject({ code: scopeCode, extra: { scope } });
    const rich = accepted(amendClient(client, fullPatch(to), decisionContext({ scopes: ["clients:write", scope] })));
    expect(rich.result).toMatchObject({ verification_status: to, version: client.version + 1 });
    expect(rich.events.map(({ type }) => type)).toEqual([
      ...(to === "verified" ? ["client.verified"] : []),
      "client.updated",
    ]);
  });

  it.each(verifications)("stays %s without a change or an event when that is what is asked for", (state) => {
    const client = clientIn(state);
    const { result, changes, events } = accepted(
      amendClient(client, { verification_status: state }, decisionContext()),
    );
    expect([result, changes, events]).toEqual([client, [], []]);
  });

  it.each(["unverified", "rejected", "expired"] as const)(
    "needs a date of birth and a country to go from %s to pending, and names both",
    (from) => {
      const client = someClient({ verification_status: from });
      const refusal = refused(amendClient(client, { verification_status: "pending" }, decisionContext()));
      expect(refusal.code).toBe("validation_failed");
      expect(refusal.errors?.map(({ pointer }) => pointer)).toEqual(["#/date_of_birth", "#/country"]);
      const patch = { verification_status: "pending", date_of_birth: "1990-01-01", country: "PT" } as const;
      expect(accepted(amendClient(client, patch, decisionContext())).result.verification).toMatchObject({
        submitted_at: decisionTime,
      });
    },
  );

  it.each(["pending", "verified"] as const)("needs a reason to be rejected from %s", (from) => {
    for (const verification of [undefined, { rejection_reasons: [] }]) {
      const patch: UpdateClient = { verification_status: "rejected", ...(verification ? { verification } : {}) };
      const refusal = refused(amendClient(clientIn(from), patch, decisionContext()));
      expect(refusal.errors?.map(({ pointer }) => pointer)).toEqual(["#/verification/rejection_reasons"]);
    }
  });

  it("says who verified when, and in the event what was before", () => {
    const before = { ...clientIn("pending"), version: 4 };
    const { result, events } = accepted(amendClient(before, { verification_status: "verified" }, decisionContext()));
    expect(result.verification).toMatchObject({
      level: "full",
      verified_at: decisionTime,
      verified_by: "app_01JD0000000000000000000000",
      rejection_reasons: [],
    });
    expect(events.slice(0, 1)).toMatchObject([
      {
        type: "client.verified",
        resource: { id: before.id, version: 5 },
        object: clientBody(result),
        previous: { verification_status: "pending" },
      },
    ]);
  });

  it("is not touched by who may only write clients", () => {
    const context = decisionContext({ scopes: ["clients:write"] });
    const refusal = refused(amendClient(clientIn("unverified"), { verification: { level: "full" } }, context));
    expect(refusal).toMatchObject({ code: scopeCode, extra: { scope: "clients:verify" } });
  });

  it("keeps its end as UTC with milliseconds, however the caller wrote it", () => {
    const patch: UpdateClient = {
      verification_status: "verified",
      verification: { expires_at: "2027-01-01T02:00:00+02:00" },
    };
    const { result } = accepted(amendClient(clientIn("pending"), patch, decisionContext()));
    expect(result.verification.expires_at).toBe("2027-01-01T00:00:00.000Z");
    expect(accepted(amendClient(result, { verification: patch.verification }, decisionContext())).changes).toEqual([]);
  });
});

const scopeCode = "insufficient_scope";

describe("the status of a client", () => {
  const states = ["active", "suspended", "closed"] as const;
  const legal = new Set(["active>suspended", "active>closed", "suspended>active", "suspended>closed"]);
  const all = states.flatMap((from) => states.map((to) => [from, to] as const)).filter(([a, b]) => a !== b);

  it.each(all.filter(([from, to]) => !legal.has(`${from}>${to}`)))("cannot go from %s to %s", (from, to) => {
    const refusal = refused(amendClient(someClient({ status: from }), { status: to }, decisionContext()));
    expect(refusal).toMatchObject({ code: "illegal_transition", extra: { from, to, allowed: [] } });
  });

  it.each(all.filter(([from, to]) => legal.has(`${from}>${to}`)))("can go from %s to %s", (from, to) => {
    const { result, events } = accepted(amendClient(someClient({ status: from }), { status: to }, decisionContext()));
    expect(result).toMatchObject({ status: to, closed_at: to === "closed" ? decisionTime : null });
    expect(events.map(({ type }) => type)).toEqual(["client.updated"]);
  });

  it("does not become closed while an account is open, also when one is opened meanwhile", () => {
    const client = someClient({ open_accounts: 2 });
    expect(refused(amendClient(client, { status: "closed" }, decisionContext())).code).toBe("client_has_open_accounts");
    const { changes } = accepted(amendClient(someClient(), { status: "closed" }, decisionContext()));
    expect(changesOf(changes, "update")[0]?.require).toEqual([{ attribute: "open_accounts", is: "equal", value: 0 }]);
  });

  it("gives the email free when it becomes closed, and keeps the external id taken", () => {
    const client = someClient({ external_id: "crm-1" });
    const { changes } = accepted(amendClient(client, { status: "closed" }, decisionContext()));
    expect(changesOf(changes, "release").map(({ kind, value }) => [kind, value])).toEqual([
      ["client_email", client.email],
    ]);
    expect(changesOf(changes, "claim")).toEqual([]);
  });

  it.each([
    ["a name", { first_name: "Eva" }],
    ["a name together with the status it has", { first_name: "Eva", status: "closed" }],
    ["an email together with the status it has", { email: "new@example.com", status: "closed" }],
    ["a verification", { verification_status: "verified" }],
  ] as const)("is final when closed: %s is refused", (_, patch) => {
    const client = someClient({ status: "closed", closed_at: decisionTime });
    expect(refused(amendClient(client, { ...patch }, decisionContext())).code).toBe("client_closed");
  });

  it.each([{}, { status: "closed" }, { first_name: "Ana" }] as const)(
    "is as it is when closed: %o changes nothing",
    (patch) => {
      const client = someClient({ status: "closed", closed_at: decisionTime });
      const { result, changes } = accepted(amendClient(client, { ...patch }, decisionContext()));
      expect([result, changes]).toEqual([client, []]);
    },
  );

  it("keeps the reason of a suspension as long as it lasts", () => {
    const patch = { status: "suspended", suspended_reason: "fraud check" } as const;
    const suspended = accepted(amendClient(someClient(), patch, decisionContext())).result;
    expect(suspended.suspended_reason).toBe("fraud check");
    expect(
      accepted(amendClient(suspended, { status: "active" }, decisionContext())).result.suspended_reason,
    ).toBeNull();
    expect(refused(amendClient(someClient(), { suspended_reason: "none" }, decisionContext())).errors).toMatchObject([
      { pointer: "#/suspended_reason", code: "not_allowed" },
    ]);
  });
});

describe("a patch of a client", () => {
  it.each([
    ["both names away", { first_name: null, last_name: null }],
    ["a date of birth of a minor in", { date_of_birth: "2015-01-01" }],
  ] as const)("that brings %s is refused", (_, patch) => {
    expect(["validation_failed", "client_underage"]).toContain(
      refused(amendClient(someClient(), { ...patch }, decisionContext())).code,
    );
  });

  const profile = fc.record(
    {
      email: fc.emailAddress(),
      first_name: fc.constantFrom("Ana", "Eva"),
      external_id: fc.constantFrom(null, "a", "b"),
      phone: fc.constantFrom(null, "+351912345678"),
      country: fc.constantFrom(null, "PT", "DE"),
      risk_level: fc.constantFrom("low" as const, "high" as const),
      tags: fc.array(fc.constantFrom("vip", "x"), { maxLength: 3 }),
      metadata: fc.dictionary(fc.constantFrom("a", "b", "c"), fc.option(fc.constantFrom("1", "2"))),
    },
    { requiredKeys: [] },
  );

  it("raises the version by one when it changes anything, and changes nothing the second time", () => {
    fc.assert(
      fc.property(profile, fc.constantFrom(null, "a"), (patch, external_id) => {
        const client = someClient({ external_id, metadata: { a: "1" } });
        const once = accepted(amendClient(client, patch as UpdateClient, decisionContext()));
        const changed = once.changes.length > 0;
        expect(once.result.version).toBe(client.version + (changed ? 1 : 0));
        if (!changed) expect(once.result).toEqual(client);
        const twice = accepted(amendClient(once.result, patch as UpdateClient, decisionContext()));
        expect([twice.result, twice.changes, twice.events]).toEqual([once.result, [], []]);
      }),
    );
  });

  it("releases the old and claims the new email and external id exactly when they change", () => {
    fc.assert(
      fc.property(profile, fc.constantFrom(null, "a", "b"), (patch, external_id) => {
        const client = someClient({ external_id });
        const { result, changes } = accepted(amendClient(client, patch as UpdateClient, decisionContext()));
        const moved = changes.flatMap((change) =>
          change.op === "claim" || change.op === "release" ? [`${change.op} ${change.kind} ${change.value}`] : [],
        );
        const expected = [
          ...(client.email === result.email
            ? []
            : [`release client_email ${client.email}`, `claim client_email ${result.email}`]),
          ...(client.external_id === result.external_id || client.external_id === null
            ? []
            : [`release client_external_id ${client.external_id}`]),
          ...(client.external_id === result.external_id || result.external_id === null
            ? []
            : [`claim client_external_id ${result.external_id}`]),
        ];
        expect(moved).toEqual(expected);
      }),
    );
  });

  it("never lets updated_at go back with the clock", () => {
    const client = someClient({ updated_at: "2026-11-21T07:00:00.000Z" });
    const { result } = accepted(amendClient(client, { first_name: "Eva" }, decisionContext()));
    expect(result.updated_at).toBe(client.updated_at);
  });

  it("compares an address by what it says, not by the order of its members", () => {
    const address = { line1: "Rua A", line2: null, city: "Porto", region: null, postal_code: "1", country: "PT" };
    const turned = Object.fromEntries(Object.entries(address).toReversed()) as typeof address;
    const { changes } = accepted(amendClient(someClient({ address: turned }), { address }, decisionContext()));
    expect(changes).toEqual([]);
  });
});

describe("metadata", () => {
  const key = fc.constantFrom("a", "b", "c", "constructor", "toString");
  const text = fc.string({ maxLength: 3 });

  it("is merged as RFC 7396 says: null removes, anything else sets, the rest stays", () => {
    fc.assert(
      fc.property(fc.dictionary(key, text), fc.dictionary(key, fc.option(text)), (current, patch) => {
        const expected = new Map(Object.entries(current));
        for (const [name, value] of Object.entries(patch)) {
          if (value === null) expected.delete(name);
          else expected.set(name, value);
        }
        const { result } = accepted(mergeMetadata(current, patch));
        expect(new Map(Object.entries(result))).toEqual(expected);
      }),
    );
  });

  it("holds as many keys as allowed and not one more, counted after the merge", () => {
    const most = limits.metadata.max_keys;
    const full = Object.fromEntries(Array.from({ length: most }, (_, i) => [`k${i}`, "v"]));
    expect(refused(mergeMetadata(full, { more: "v" })).errors).toMatchObject([{ pointer: "#/metadata" }]);
    expect(Object.keys(accepted(mergeMetadata(full, { more: "v", k0: null })).result)).toHaveLength(most);
  });
});
