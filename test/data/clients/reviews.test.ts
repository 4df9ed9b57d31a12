import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { newId } from "../../../shared/runtime/ids.ts";
import { atOnce, brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { itemsOf, scanTable } from "../../support/emulator/raw-table.ts";
import { asOperator, newCaller, type TestCaller, withScopes } from "../../support/emulator/request.ts";
import { startSocketEndpoint } from "../../support/emulator/socket-endpoint.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";

const api = await startApi("stream", "watched");
const gateway = await startSocketEndpoint();
Object.assign(process.env, gateway.environment);
afterAll(async () => {
  await gateway.stop();
  await api.stop();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const { streaming } = await import("../../support/emulator/streaming.ts");
const { publishWaiting, publishing } = await import("../../support/emulator/publishing.ts");
const { eraseClientAudit } = await import("../../../shared/table/audit/erasure.ts");
const work = publishing(api);

const known = { date_of_birth: "1990-01-01", country: "PT" };

async function send(caller: TestCaller, method: string, address: string, body?: object) {
  const headers = method === "GET" ? {} : { "Idempotency-Key": newId("key") };
  const answer = await api.call(caller, method, address, body === undefined ? {} : { body, headers });
  expect([address, answer.status, answer.text]).toEqual([address, expect.toSatisfy((n) => n < 300), answer.text]);
  return answer.body;
}

/** Every item of a list, page by page. */
async function listed(caller: TestCaller, address: string) {
  const found = [];
  for (let at: string | undefined = address; at !== undefined; ) {
    const page = await send(caller, "GET", at);
    found.push(...page.data);
    at = page._links.next?.href.replace(/^.*\/v2/, "");
  }
  return found;
}

const soon = () => new Date(Date.now() + 86_400_000).toISOString();

/** Decisions about one client, each of which may have an internal comment. */
const decisions: readonly ((internal_comment: string) => object)[] = [
  (internal_comment) => ({ verification_status: "pending", verification: { internal_comment } }),
  (internal_comment) => ({ verification_status: "verified", verification: { internal_comment, checks: ["pep"] } }),
  (internal_comment) => ({
    verification_status: "verified",
    verification: { internal_comment, verified_at: new Date(Date.now() - 1000).toISOString(), expires_at: soon() },
  }),
  (internal_comment) => ({
    verification_status: "rejected",
    verification: { internal_comment, rejection_reasons: ["watchlist_hit"], retry_allowed: false, comment: "No" },
  }),
  (internal_comment) => ({ verification: { internal_comment } }),
];

describe("the comment of a decision that a client must not see", () => {
  it("is in the reviews of 50 decisions, and nowhere else", async () => {
    const written: string[] = [];
    vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
    const caller = newCaller();
    const broker = brokerage(api, caller);
    const word = newId("x").slice(2);
    const secret = `Reported to the authority: ${word}`;
    const endpoint = { url: "https://example.com/hook", event_types: ["*"] };
    const { id: endpoint_id } = await send(caller, "POST", "/webhook_endpoints", endpoint);
    const socket = streaming(api, gateway, caller.tenant_id);
    const connection = await socket.connect();
    await socket.subscribe(connection, "1", [{ name: "events" }]);
    const owners: string[] = [];
    const answers: string[] = [];
    for (let number = 0; number < 10; number += 1) {
      const { id } = await broker.client(known);
      owners.push(id);
      for (const body of decisions) {
        answers.push(JSON.stringify(await send(caller, "PATCH", `/clients/${id}`, body(secret))));
      }
    }
    // A refusal repeats nothing of it either.
    for (const verification of [
      { internal_comment: secret, checks: ["pep"] },
      { internal_comment: `${secret}\u0000` },
    ]) {
      const body = { verification_status: "pending", verification };
      const { status, text } = await api.call(caller, "PATCH", `/clients/${owners[0]}`, { body });
      expect(status).toBe(422);
      answers.push(text);
    }
    await publishWaiting(api.emulator, caller.tenant_id);
    await work.fanOutQueued();
    await socket.runAll();
    const queued = api.queues.takeMessages();
    const posts = gateway.takePosts();
    const lists = ["/clients", "/clients/queue", "/clients/queue?kind=renewal", "/events", "/audit_log"];
    const deliveries = `/webhook_endpoints/${endpoint_id}/deliveries`;
    const shown = await Promise.all([...lists, deliveries].map((path) => listed(caller, path)));
    const streamed = socket.messages(connection, posts);
    expect([shown[3]?.length, streamed.length > 50, shown[4]?.length]).toEqual([
      expect.toSatisfy((count) => count > 50),
      true,
      expect.toSatisfy((count) => count > 50),
    ]);
    const one = await Promise.all(owners.map((id) => send(caller, "GET", `/clients/${id}`)));
    const all = [answers, queued, shown, streamed, one, written, posts].map((each) => JSON.stringify(each));
    expect(all.map((text) => text.includes(word))).toEqual(all.map(() => false));
    const { tableName, volatileTableName, keyTableName } = api.emulator;
    const items = (
      await Promise.all([tableName, volatileTableName, keyTableName].map((name) => scanTable(api.emulator, name)))
    ).flat();
    const kinds = items.filter((item) => JSON.stringify(item).includes(word)).map(({ et }) => et);
    expect(kinds).toEqual(Array.from({ length: 50 }, () => "REVIEW"));
    for (const id of owners) {
      const reviews = await listed(caller, `/clients/${id}/reviews?limit=2`);
      expect(reviews.map((each: { internal_comment: string }) => each.internal_comment)).toEqual(
        decisions.map(() => secret),
      );
    }
  }, 120_000);
});

describe("a review", () => {
  it("tells who decided what, newest first, in the commit of the decision; submitting leaves none", async () => {
    const caller = newCaller();
    const compliance = asOperator(caller, "Eva", "compliance");
    const { id } = await brokerage(api, caller).client(known);
    await send(caller, "PATCH", `/clients/${id}`, { verification_status: "pending" });
    expect(await listed(compliance, `/clients/${id}/reviews`)).toEqual([]);
    api.watched.takeCalls();
    const body = { verification_status: "verified", verification: { checks: ["liveness"], comment: "Welcome" } };
    const client = await send(compliance, "PATCH", `/clients/${id}`, body);
    expect(api.watched.takeCalls().filter(({ operation }) => operation === "TransactWriteItems")).toHaveLength(1);
    await send(compliance, "PATCH", `/clients/${id}`, body);
    await send(compliance, "PATCH", `/clients/${id}`, { risk_level: "high" });
    const rejection = { rejection_reasons: ["pep"], retry_allowed: true, internal_comment: "Minister" };
    await send(compliance, "PATCH", `/clients/${id}`, { verification_status: "rejected", verification: rejection });
    const reviews = await listed(compliance, `/clients/${id}/reviews`);
    const actor = { type: "operator", id: compliance.operator?.id, name: "Eva" };
    const common = { object: "review", kind: "decision", client_id: id, document_id: null, note: null, actor };
    expect(reviews).toMatchObject([
      {
        ...{ ...common, previous_status: "verified", status: "rejected", reasons: ["pep"], retry_allowed: true },
        ...{ comment: null, internal_comment: "Minister", verification: { checks: [], rejection_reasons: ["pep"] } },
      },
      {
        ...{ ...common, previous_status: "pending", status: "verified", reasons: [], retry_allowed: null },
        ...{ comment: "Welcome", internal_comment: null, verification: client.verification },
      },
    ]);
  });

  it("of the sandbox's simulation is one as well, and a comment alone changes no version", async () => {
    const caller = newCaller();
    const { id } = await brokerage(api, caller).client(known);
    const verified = await send(caller, "POST", `/sandbox/clients/${id}/verify`);
    const comment = { verification: { internal_comment: "Called" } };
    expect(await send(caller, "PATCH", `/clients/${id}`, comment)).toEqual(verified);
    const reviews = await listed(caller, `/clients/${id}/reviews`);
    expect(reviews).toMatchObject([
      { previous_status: "verified", status: "verified", internal_comment: "Called" },
      { previous_status: "unverified", status: "verified", internal_comment: null },
    ]);
    await publishWaiting(api.emulator, caller.tenant_id);
    const [entry] = await listed(caller, "/audit_log?sort=-sequence&limit=1");
    const resource = { type: "review", id: (reviews[0] as { id: string }).id };
    expect(entry).toMatchObject({ resource: { type: "client", id }, changes: [{ resource, before: null, after: {} }] });
  });

  it("is read by who verifies; notes by every operator who reads clients; none by an application", async () => {
    const caller = newCaller();
    const { id } = await brokerage(api, caller).client(known);
    const path = `/clients/${id}/reviews`;
    const note = await send(asOperator(caller, "Sam", "support"), "POST", path, { note: "Prefers the phone" });
    expect(note).toMatchObject({ kind: "note", note: "Prefers the phone", status: null, actor: { name: "Sam" } });
    await send(caller, "PATCH", `/clients/${id}`, { verification_status: "verified" });
    const kinds = async (as: TestCaller, query = "") =>
      (await listed(as, `${path}${query}`)).map(({ kind }: { kind: string }) => kind);
    const refusedTo = async (as: TestCaller, query = "") => (await api.call(as, "GET", `${path}${query}`)).body;
    for (const role of ["support", "viewer", "finance"] as const) {
      const as = asOperator(caller, "Any", role);
      expect([await kinds(as), await kinds(as, "?kind=note")]).toEqual([["note"], ["note"]]);
      expect(await refusedTo(as, "?kind=decision")).toMatchObject({
        code: "insufficient_scope",
        scope: "clients:verify",
      });
    }
    for (const as of [caller, asOperator(caller, "Eva", "compliance")]) {
      expect([await kinds(as), await kinds(as, "?kind=decision")]).toEqual([["decision", "note"], ["decision"]]);
    }
    const portal = withScopes(caller, "clients:read", "clients:write");
    expect(await refusedTo(portal)).toMatchObject({ code: "insufficient_scope", scope: "clients:verify" });
    expect((await api.call(newCaller(), "GET", path)).status).toBe(404);
    expect((await api.call(newCaller(), "POST", path, { body: { note: "x" } })).status).toBe(404);
    await publishWaiting(api.emulator, caller.tenant_id);
    expect(JSON.stringify(await listed(caller, "/audit_log"))).not.toContain("Prefers the phone");
    expect(JSON.stringify(await listed(caller, "/events"))).not.toContain("Prefers the phone");
  });

  it("is not added to a closed client, also while it is closed", async () => {
    const caller = newCaller();
    const broker = brokerage(api, caller);
    for (let turn = 0; turn < 8; turn += 1) {
      const { id } = await broker.client(known);
      const path = `/clients/${id}`;
      const [note, comment, closed] = await Promise.all([
        api.call(caller, "POST", `${path}/reviews`, { body: { note: "x" } }),
        api.call(caller, "PATCH", path, { body: { verification: { internal_comment: "x" } } }),
        api.call(caller, "PATCH", path, { body: { status: "closed" } }),
      ]);
      const kept = [note.status === 201, comment.status === 200].filter(Boolean).length;
      expect([closed.status, (await listed(caller, `${path}/reviews`)).length]).toEqual([200, kept]);
      for (const late of [
        await api.call(caller, "POST", `${path}/reviews`, { body: { note: "x" } }),
        await api.call(caller, "PATCH", path, { body: { verification: { internal_comment: "x" } } }),
      ]) {
        expect([late.status, late.body.code]).toEqual([409, "client_closed"]);
      }
    }
  });

  it("loses its texts and its verification by an erasure, which may die at any call and be repeated", async () => {
    const caller = newCaller();
    const { id } = await brokerage(api, caller).client(known);
    const word = newId("x").slice(2);
    for (const body of decisions) await send(caller, "PATCH", `/clients/${id}`, body(word));
    await send(caller, "POST", `/clients/${id}/reviews`, { note: word });
    await send(caller, "PATCH", `/clients/${id}`, { status: "closed" });
    const before = await listed(caller, `/clients/${id}/reviews`);
    let survived = false;
    for (let last = 1; !survived; last += 1) {
      let calls = 0;
      api.watched.interfere = () => {
        calls += 1;
        return calls > last ? failure("AccessDeniedException") : undefined;
      };
      survived = await eraseClientAudit(caller.tenant_id, id).then(
        () => true,
        () => false,
      );
      api.watched.interfere = () => undefined;
    }
    await eraseClientAudit(caller.tenant_id, id);
    const after = await listed(caller, `/clients/${id}/reviews`);
    const gone = { comment: null, internal_comment: null, note: null, verification: null };
    expect(after).toEqual(before.map((review: object) => ({ ...review, ...gone })));
    const left = await itemsOf(api.emulator, { type: "REVIEW", tenant: caller.tenant_id });
    expect(JSON.stringify(left)).not.toContain(word);
    expect(await atOnce(2, () => eraseClientAudit(caller.tenant_id, id))).toHaveLength(2);
  });
});
