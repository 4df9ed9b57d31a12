import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import type { Client } from "../../../shared/domain/records/client.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { clients, uniques } from "../../../shared/table/entities.ts";
import { someClient } from "../../support/builders/decisions.ts";
import { putItem } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { putRaw } from "../../support/emulator/deliveries.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";

const api = await startApi("watched");
afterAll(api.stop);

const dayMs = 86_400_000;
type Kind = "decision" | "renewal";

/** Any client: in every state, with times of which some are the same and some are days away. */
const anyClient = fc.record({
  status: fc.constantFrom("active" as const, "active" as const, "suspended" as const, "closed" as const),
  verification_status: fc.constantFrom(
    ...(["unverified", "pending", "verified", "rejected", "expired"] as const),
    ...(["pending", "verified"] as const),
  ),
  submitted: fc.option(fc.integer({ min: 1, max: 40 }), { freq: 20 }),
  ends: fc.option(fc.integer({ min: -20, max: 400 }), { freq: 5 }),
});

/** Brokerages with so many random clients in the table. */
async function putClients(caller: TestCaller, count: number): Promise<Map<string, Client>> {
  const now = Date.now();
  const at = (days: number) => new Date(now + days * dayMs + 3_600_000).toISOString();
  const made = fc.sample(anyClient, { numRuns: count, seed: 53 }).map(({ submitted, ends, ...state }) => {
    const verification = {
      ...someClient().verification,
      submitted_at: submitted === null ? null : at(-submitted),
      expires_at: ends === null ? null : at(ends),
    };
    const id = newId("cli");
    const own = { id, tenant_id: caller.tenant_id, email: `${id.toLowerCase()}@example.com`, verification };
    const client = someClient({ ...state, ...own, date_of_birth: "1990-01-01", country: "PT" });
    // The key of the builder seals nothing.
    const { audit_key: _key, ...keyless } = client;
    return keyless;
  });
  for (const client of made) {
    await putItem(api, clients, client);
    const key = uniques.key(client.tenant_id, "client_email", client.email);
    await putRaw(api, { ...key, et: uniques.et, v: 1, owner_id: client.id });
  }
  return new Map(made.map((client) => [client.id, client]));
}

/** The queue as the design has it, from all clients at once. */
function modelOf(all: Iterable<Client>, kind: Kind, within_days: number): Client[] {
  const until = new Date(Date.now() + within_days * dayMs).toISOString();
  const placeOf = ({ verification }: Client) =>
    (kind === "decision" ? verification.submitted_at : verification.expires_at) ?? "";
  const isIn = (client: Client) =>
    client.status !== "closed" &&
    placeOf(client) !== "" &&
    (kind === "decision"
      ? client.verification_status === "pending"
      : ["verified", "expired"].includes(client.verification_status) && placeOf(client) < until);
  const place = (client: Client) => `${placeOf(client)} ${client.id}`;
  return [...all].filter(isIn).toSorted((a, b) => (place(a) < place(b) ? -1 : 1));
}

async function pageAt(caller: TestCaller, address: string) {
  const answer = await api.call(caller, "GET", address);
  expect([address, answer.status]).toEqual([address, 200]);
  return answer.body;
}

const pathOf = (href: string) => href.slice(href.indexOf("/clients"));
const idsIn = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id);

describe("the queues of identities", () => {
  it("equal a model over 500 random clients, in pages of any size and both ways, of one brokerage", async () => {
    const [caller, other] = [newCaller(), newCaller()];
    const all = await putClients(caller, 500);
    await putClients(other, 40);
    const asked: readonly (readonly [Kind, number, string])[] = [
      ["decision", 0, "kind=decision"],
      ["decision", 0, ""],
      ...[0, 30, 365].map((days) => ["renewal", days, `kind=renewal&within_days=${days}`] as const),
      ["renewal", 30, "kind=renewal"],
    ];
    for (const [kind, days, query] of asked) {
      const expected = idsIn(modelOf(all.values(), kind, days));
      expect(expected.length).toBeGreaterThan(10);
      for (const limit of [7, 50, 100]) {
        const pages: string[][] = [];
        let page = await pageAt(caller, `/clients/queue?limit=${limit}&${query}`);
        for (;;) {
          pages.push(idsIn(page.data));
          if (page._links.next === undefined) break;
          page = await pageAt(caller, pathOf(page._links.next.href));
        }
        expect(pages.flat()).toEqual(expected);
        for (const before of pages.slice(0, -1).toReversed()) {
          page = await pageAt(caller, pathOf(page._links.prev.href));
          expect(idsIn(page.data)).toEqual(before);
        }
      }
    }
  }, 120_000);

  it("show each client that stays once, and none that has left, while others move between the pages", async () => {
    const caller = newCaller();
    const all = await putClients(caller, 500);
    const move = async (client: Client, body: object) => {
      const answer = await api.call(caller, "PATCH", `/clients/${client.id}`, { body });
      expect([body, answer.status]).toEqual([body, 200]);
      all.set(client.id, { ...client, ...answer.body });
    };
    const later = new Date(Date.now() + 300 * dayMs).toISOString();
    for (const kind of ["decision", "renewal"] as const) {
      const first = modelOf(all.values(), kind, 30);
      const moved = new Set<string>();
      const shown: string[] = [];
      let at = `/clients/queue?limit=5&kind=${kind}`;
      for (let turn = 0; at !== ""; turn += 1) {
        const queue = modelOf(all.values(), kind, 30);
        const [near, far] = [queue[turn * 3], queue.at(-1 - turn)];
        for (const [client, place] of [[near, 0] as const, [far, 1] as const]) {
          if (client === undefined || moved.has(client.id) || turn > 5) continue;
          moved.add(client.id);
          const renewed = { verification_status: "verified", verification: { expires_at: later } };
          await move(client, turn % 2 === place && turn < 8 ? { status: "closed" } : renewed);
        }
        const isNew = ({ id, verification_status: state, status }: Client) =>
          state === "unverified" && status === "active" && !moved.has(id);
        const fresh = [...all.values()].find(isNew);
        if (fresh !== undefined && turn < 5) {
          moved.add(fresh.id);
          await move(fresh, { verification_status: "pending", verification: { expires_at: null } });
        }
        const page = await pageAt(caller, at);
        const inQueue = new Set(idsIn(modelOf(all.values(), kind, 30)));
        for (const { id } of page.data) expect([id, inQueue.has(id)]).toEqual([id, true]);
        shown.push(...idsIn(page.data));
        at = page._links.next === undefined ? "" : pathOf(page._links.next.href);
      }
      expect(new Set(shown).size).toBe(shown.length);
      const stayed = idsIn(first).filter((id) => !moved.has(id));
      expect(shown.filter((id) => stayed.includes(id))).toEqual(stayed);
      expect([moved.size > 10, stayed.length > 10]).toEqual([true, true]);
    }
  }, 120_000);

  it("cost one query of an index and one batch of reads, and need the scope of a decision", async () => {
    const caller = newCaller();
    await putClients(caller, 30);
    api.watched.takeCalls();
    await pageAt(caller, "/clients/queue?kind=renewal");
    const calls = api.watched.takeCalls().map(({ operation }) => operation);
    expect(calls.toSorted()).toEqual(["BatchGetItem", "Query", "UpdateItem"]);
    const reader = { ...caller, scopes: ["clients:read", "clients:write"] };
    expect((await api.call(reader, "GET", "/clients/queue")).body).toMatchObject({ code: "insufficient_scope" });
  });

  it.each([
    ["within_days=5", "within_days"],
    ["kind=decision&within_days=5", "within_days"],
    ["kind=renewal&within_days=366", "within_days"],
    ["kind=renewal&within_days=-1", "within_days"],
    ["kind=other", "kind"],
  ])("refuse %s and name the parameter", async (query, parameter) => {
    const { status, body } = await api.call(newCaller(), "GET", `/clients/queue?${query}`);
    expect([status, body.errors.map((each: { parameter: string }) => each.parameter)]).toEqual([400, [parameter]]);
  });
});
