import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { beginning, checkChain, type Link } from "../../shared/domain/audit/chain.ts";
import { type AuditEntry, type AuditedEvent, entryOf } from "../../shared/domain/audit/entry.ts";
import { limits } from "../../shared/limits.ts";
import { samples } from "../../shared/openapi/published-kinds.ts";
import { sha256 } from "../../shared/runtime/digest.ts";
import { newId } from "../../shared/runtime/ids.ts";
import { secretMembers } from "../../shared/schema/audit/confidential.ts";
import { auditPage, entriesOf } from "../../shared/table/audit-entry.ts";
import { auditId, auditPages, placeOfAudit } from "../../shared/table/entities.ts";
import { itemOf } from "../../shared/table/write.ts";

const tenant_id = newId("brk");
const origin = { action: "update_transaction", ip: "203.0.113.7", user_agent: "Mozilla/5.0 (X11; Linux x86_64)" };

/** An entry that these events tell. */
function entryAbout(events: readonly AuditedEvent[], sequence = 1, place = 0): AuditEntry {
  const created_at = "2026-11-21T06:30:00.123Z";
  const id = auditId(Date.parse(created_at), newId("obx"), { sequence, place });
  return entryOf(origin, events, { id, created_at, secrets: secretMembers, digest: sha256 });
}

const told = Object.values(samples) as unknown as AuditedEvent[];

/** Bytes of an item as DynamoDB counts them. */
function bytesOf(item: Record<string, unknown>): number {
  return Object.entries(item).reduce(
    (sum, [name, value]) => sum + name.length + (value instanceof Uint8Array ? value.length : String(value).length),
    0,
  );
}

describe("a stored page of the audit", () => {
  const place = { tenant_id, expires_at: 1_800_000_000 };

  it("is shown as its entries were chained, and the chain is whole over all pages", () => {
    const pages = fc.array(fc.array(fc.shuffledSubarray(told, { maxLength: 3 }), { minLength: 1, maxLength: 4 }));
    fc.assert(
      fc.property(pages, (transactions) => {
        let head: Link = beginning;
        const shown = transactions.flatMap((commits) => {
          const entries = commits.map((events, at) => entryAbout(events, head.sequence + 1 + at, at));
          const next = auditPage(entries, head, place);
          head = next.head;
          return entriesOf(next.page);
        });
        expect(checkChain(shown, { head, digest: sha256 })).toEqual({ checked: shown.length, head, broken: null });
      }),
      { numRuns: 30 },
    );
  });

  it("is found by the identifier of each of its entries", () => {
    const head = { sequence: 1_234_566, hash: "0".repeat(64) };
    const { page } = auditPage([entryAbout([], 1_234_567, 0), entryAbout([], 1_234_568, 1)], head, place);
    expect(entriesOf(page).map(({ id }) => placeOfAudit(id))).toEqual([
      { sequence: 1_234_567, first: page.first },
      { sequence: 1_234_568, first: page.first },
    ]);
  });

  it("takes one write unit for one command on any of the resources", () => {
    for (const event of told) {
      const { page } = auditPage([entryAbout([event])], beginning, place);
      expect(bytesOf(itemOf(auditPages, page))).toBeLessThan(1024);
    }
  });

  it("fits an item with all entries of a transaction, each as large as it may be", () => {
    const entries = [...Array(Math.floor((limits.commit.max_items - 2) / 2))].map((_, at) => {
      const note = randomBytes((limits.audit.max_changes_bytes * 7) / 10).toString("base64");
      const resource = { type: "client", id: newId("cli"), version: 1 };
      return entryAbout([{ ...told[0], resource, data: { object: { note } } } as AuditedEvent], at + 1, at);
    });
    const { page } = auditPage(entries, beginning, place);
    expect(bytesOf(itemOf(auditPages, page))).toBeLessThan(400 * 1024);
  });
});

describe("an entry of the audit", () => {
  const resource = { type: "client", id: newId("cli"), version: 2 };
  const common = {
    created_at: "2026-11-21T06:30:00.000Z",
    actor: { type: "system", id: "x", name: "X" },
    request_id: "r",
  } as const;

  it("shows each resource before all events of the commit and after them", () => {
    const event = (version: number, object: object, previous?: object) =>
      ({
        ...common,
        resource: { ...resource, version },
        data: { object, ...(previous && { previous }) },
      }) as AuditedEvent;
    const changed = entryAbout([
      event(2, { id: resource.id, account_count: 1, status: "b" }, { status: "a" }),
      event(3, { id: resource.id, account_count: 2, status: "c" }, { status: "b", account_count: 1 }),
    ]);
    expect(changed.changes).toEqual([
      {
        resource: { type: "client", id: resource.id },
        before: { status: "a", account_count: 1 },
        after: { status: "c", account_count: 2 },
      },
    ]);
    const made = entryAbout([event(1, { id: resource.id, account_count: 1, phone: null, _links: {} })]);
    expect(made.changes).toMatchObject([{ before: null, after: { account_count: 1 } }]);
    expect(made.resource).toEqual({ type: "client", id: resource.id });
  });

  it("leaves secrets out at any depth", () => {
    const object = { id: "x", secret: "canary", list: [{ client_secret: "canary" }], status: "kept" };
    const { changes } = entryAbout([{ ...common, resource: { ...resource, version: 1 }, data: { object } }]);
    expect(JSON.stringify(changes)).not.toContain("canary");
    expect(changes[0]?.after).toEqual({ list: [{}], status: "kept" });
  });

  it("names states by their hash that are larger than an entry may be", () => {
    const metadata = Object.fromEntries(
      [...Array(50)].map((_, at) => [`k${at}`, "x".repeat(limits.audit.max_changes_bytes)]),
    );
    const { changes } = entryAbout([
      { ...common, resource: { type: "account", id: newId("acc"), version: 1 }, data: { object: { metadata } } },
    ]);
    expect(changes[0]?.after).toEqual({ sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  it("keeps the states that are smaller than their hashes, however many resources a commit changes", () => {
    const events = [...Array(limits.events.max_per_commit)].map((_, at) => {
      const data = { object: { id: `trd_${at}`, note: "b".repeat(50) }, previous: { note: "a".repeat(50) } };
      return { ...common, resource: { type: "trade", id: newId("trd"), version: 2 }, data };
    });
    const { changes } = entryAbout(events as readonly AuditedEvent[]);
    expect(JSON.stringify(changes).length).toBeGreaterThan(limits.audit.max_changes_bytes);
    expect(JSON.stringify(changes)).not.toContain("sha256");
  });
});
