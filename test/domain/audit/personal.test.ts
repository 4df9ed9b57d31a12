import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AuditedEvent, entryOf } from "../../../shared/domain/audit/entry.ts";
import { boundedValues, personalIn, sealedMark, withValues } from "../../../shared/domain/audit/personal.ts";
import { limits } from "../../../shared/limits.ts";
import { impersonalMembers, payeeMembers, personalMembers } from "../../../shared/personal-members.ts";
import { sha256 } from "../../../shared/runtime/digest.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { secretMembers } from "../../../shared/schema/audit/confidential.ts";
import { BrokerageClient, CreateClientRequest, UpdateClientRequest } from "../../../shared/schema/client.ts";
import { CreateOperatorRequest, Operator, UpdateOperatorRequest } from "../../../shared/schema/people/operator.ts";
import { Transaction } from "../../../shared/schema/transaction.ts";

const shapes = {
  client: [BrokerageClient, CreateClientRequest, UpdateClientRequest],
  operator: [Operator, CreateOperatorRequest, UpdateOperatorRequest],
} as const;

describe.each(["client", "operator"] as const)("every member of a %s", (kind) => {
  it("is personal or is not, and neither list names another one", () => {
    const personal = [...personalMembers[kind]];
    const [resource, ...requests] = shapes[kind].map(({ shape }) => Object.keys(shape));
    expect([...personal, ...impersonalMembers[kind]].toSorted()).toEqual(resource?.toSorted());
    expect(requests.flat().filter((name) => !resource?.includes(name))).toEqual([]);
  });
});

it("the members of a transaction's source and destination are those that the audit leaves out", () => {
  for (const endpoint of [Transaction.shape.source, Transaction.shape.destination]) {
    expect(Object.keys(endpoint.def.innerType.shape).toSorted()).toEqual([...payeeMembers].toSorted());
  }
});

describe("an entry of the audit", () => {
  const id = newId("cli");
  const resource = { type: "client", id };
  const context = { id: newId("aud"), created_at: "2026-11-21T06:30:00.000Z", secrets: secretMembers, digest: sha256 };
  const call = { action: "create_client", ip: "203.0.113.7", user_agent: "canary-agent" };
  const operator = { type: "operator", id: newId("opr"), name: "canary-operator" } as const;

  it("has no personal value that reached it in clear, of any resource and from any part of the commit", () => {
    const members = fc.record(
      Object.fromEntries([...personalMembers.client].map((name) => [name, fc.constant(`canary-${name}`)])),
      { requiredKeys: [] },
    );
    const history = { status_history: [{ actor: operator }], destination: { holder: "canary-holder" } };
    const transaction = { type: "transaction", id: newId("txn"), version: 2 };
    fc.assert(
      fc.property(members, fc.option(members), fc.boolean(), (after, before, told) => {
        const common = { created_at: context.created_at, actor: operator, request_id: "r" };
        const previous = before === null ? {} : { previous: before };
        const events: AuditedEvent[] = [
          { ...common, resource: { ...resource, version: 1 }, data: { object: after, ...previous } },
          { ...common, resource: transaction, data: { object: history, previous: history } },
        ];
        const waiting = told ? { ...call, changes: [{ resource, before, after }] } : call;
        expect(JSON.stringify(entryOf(waiting, events, context))).not.toContain("canary");
      }),
    );
  });

  it("names an application, its address and its program", () => {
    const actor = { type: "application", id: newId("app"), name: "CRM" } as const;
    const entry = entryOf({ ...call, actor, changes: [] }, [], context);
    expect(entry).toMatchObject({ actor, ip: call.ip, user_agent: call.user_agent });
    expect(entry).not.toHaveProperty("sealed");
  });

  it("has its values again at their places, in states that were kept", () => {
    const changes = [{ resource, before: { email: "a@b.co", phone: null }, after: { email: "c@d.co", status: "x" } }];
    const [found] = personalIn(changes);
    expect(found).toEqual({
      person: id,
      members: ["/changes/0/before/email", "/changes/0/after/email"],
      values: ["a@b.co", "c@d.co"],
    });
    const { members = [], values = [] } = found ?? {};
    const kept = withValues({ changes }, members, () => sealedMark);
    expect(kept.changes[0]).toMatchObject({ before: { email: sealedMark, phone: null }, after: { status: "x" } });
    expect(personalIn(kept.changes)).toEqual([]);
    expect(withValues(kept, members, (at) => values[at])).toEqual({ changes });
    const hashed = { changes: [{ resource, before: null, after: { sha256: "0" } }] };
    expect(withValues(hashed, members, (at) => values[at])).toEqual(hashed);
  });

  it("keeps the hashes of values that are too large, the largest first", () => {
    const large = "x".repeat(limits.audit.max_personal_bytes);
    const personal = { person: id, members: ["/a", "/b", "/c"], values: ["small", { large }, null] };
    const { values } = boundedValues(personal, sha256);
    expect(values).toEqual(["small", { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }, null]);
  });
});
