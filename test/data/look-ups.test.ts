import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientBody } from "../../shared/domain/accounts/client.ts";
import type { Client } from "../../shared/domain/records/client.ts";
import { clientFilters, resourcePage } from "../../shared/http/filters.ts";
import { pageReply } from "../../shared/http/page.ts";
import { validQuery } from "../../shared/http/validate.ts";
import { listClients } from "../../shared/routes/clients.ts";
import { replyOrder } from "../../shared/schema/member-order.ts";
import { clients } from "../../shared/table/entities.ts";
import { brokerage, clientRequest } from "../support/builders/brokerage.ts";
import { startApi, type TestAnswer } from "../support/emulator/api.ts";
import { newCaller } from "../support/emulator/request.ts";

const api = await startApi();
afterAll(api.stop);
const { pageOfIndex } = await import("../../shared/table/list.ts");

const base = "https://api.test.example/v2";
const caller = newCaller();
const broker = brokerage(api, caller);

describe("clients looked up by a unique value", () => {
  const composed = "zo\u00eb";
  const decomposed = composed.normalize("NFD");
  const emails = [
    "a%2Cb@example.com",
    "Ann@Example.com",
    "ann@example.com",
    `${decomposed}@example.com`,
    "x@example.com",
  ];
  const externalIds = ["a,b", "null", "100%", decomposed, composed, "A"];
  const act = fc.record(
    {
      on: fc.nat(),
      create: fc.boolean(),
      email: fc.constantFrom(...emails),
      external_id: fc.constantFrom(...externalIds, null, null, null, null, null, null),
      status: fc.constantFrom("suspended", "active", "closed", "closed", "closed"),
    },
    { requiredKeys: ["on", "create"] },
  );

  /** The list with each client of the brokerage filtered. */
  async function filtered(address: string): Promise<string> {
    const search = new URL(`${base}${address}`).searchParams;
    const given = Object.fromEntries([...search].map(([name, value]) => [name, [value]]));
    const query = validQuery(listClients.query, given);
    const place = { path: "/v2/clients", query, order: replyOrder(listClients.reply) };
    const all = [clients.all(caller.tenant_id)];
    const page = await pageOfIndex<Client>("list", all, resourcePage(place, clientFilters));
    return pageReply(place, page, clientBody).body;
  }

  const moments: string[] = [];

  beforeAll(async () => {
    const ids: string[] = [];
    for (const { on, create, status, ...names } of fc.sample(act, { numRuns: 120, seed: 15 })) {
      const creates = create || ids.length === 0;
      const address = creates ? "/clients" : `/clients/${ids[on % ids.length]}`;
      const body = creates ? clientRequest(names) : { ...names, status };
      const answer = await api.call(caller, creates ? "POST" : "PATCH", address, { body });
      expect([200, 201, 409]).toContain(answer.status);
      if (answer.status === 201) {
        ids.push(answer.body.id);
        moments.push(answer.body.created_at);
      }
    }
  });

  it("are, byte for byte and page for page, what a filter over all clients finds", async () => {
    const middle = moments[Math.floor(moments.length / 2)] ?? "";
    const others = ["", "&status=closed", "&status=active,suspended", "&sort=created_at"];
    const bounds = [`&created_from=${middle}`, `&created_to=${middle}`];
    const named = [
      ...[...emails, "X@EXAMPLE.com", "other@example.com"].map((email) => `email=${encodeURIComponent(email)}`),
      ...[...externalIds, "a", "crm"].map((value) => `external_id=${encodeURIComponent(value)}`),
      `email=x@example.com&external_id=${encodeURIComponent(composed)}`,
    ];
    // By these the list is read from their own partitions.
    const states = [
      ...["status=closed", "status=suspended,active", "verification_status=unverified", "verification_status=rejected"],
      ...["status=closed&verification_status=unverified,verified", "status=closed&country=DE&tag=vip"],
    ];
    let [pages, most] = [0, 0];
    /** Follows one relation to its end: the answers, each compared with the filter. */
    async function walk(address: string | undefined, relation: "next" | "prev") {
      const answers: TestAnswer[] = [];
      for (let at = address; at !== undefined; at = answers.at(-1)?.body._links[relation]?.href.slice(base.length)) {
        const answer = await api.call(caller, "GET", at);
        expect([at, answer.status, answer.text]).toEqual([at, 200, await filtered(at)]);
        answers.push(answer);
      }
      pages += answers.length;
      return answers;
    }
    const asked = [
      ...named.flatMap((name) => [...others, ...bounds].map((more) => `${name}${more}&limit=1`)),
      ...states.flatMap((state) => ["", "&sort=created_at"].map((more) => `${state}${more}&limit=9`)),
    ];
    for (const address of asked.map((query) => `/clients?${query}`)) {
      const forward = await walk(address, "next");
      await walk(forward.at(-1)?.body._links.prev?.href.slice(base.length), "prev");
      most = Math.max(most, forward.flatMap(({ body }) => body.data).length);
    }
    // Several closed clients had one address, so their pages were walked.
    expect(most).toBeGreaterThan(2);
    console.log(`${moments.length} clients, ${pages} pages, at most ${most} clients with one address`);
  });
});

describe("accounts and transactions looked up by a unique value", () => {
  const idsAt = async (address: string) => (await broker.get(address)).data.map(({ id }: { id: string }) => id);
  const create = async (client_id: string, more: object) => {
    const { status, text, body } = await api.call(caller, "POST", "/accounts", { body: { client_id, ...more } });
    expect([status, text]).toEqual([201, text]);
    return body;
  };

  it("are the accounts of a login on every platform, in order, page by page and within the other filters", async () => {
    const { id: owner } = await broker.client();
    const { id: other } = await broker.client();
    const first = await create(owner, { platform: "mt5", platform_login: "7,1", type: "demo" });
    const second = await create(other, { platform: "ctrader", platform_login: "7,1" });
    await create(owner, { platform: "mt5", platform_login: "7" });
    expect(await idsAt("/accounts?platform_login=7,1")).toEqual([second.id, first.id]);
    expect(await idsAt("/accounts?platform_login=7,1&sort=created_at")).toEqual([first.id, second.id]);
    expect(await idsAt("/accounts?platform_login=7,1&type=demo&margin_status=normal")).toEqual([first.id]);
    expect(await idsAt(`/accounts?platform_login=7,1&number=${first.number}`)).toEqual([first.id]);
    expect(await idsAt(`/accounts?platform_login=7&number=${first.number}`)).toEqual([]);
    expect(await idsAt(`/clients/${owner}/accounts?platform_login=7,1`)).toEqual([first.id]);
    const page = await broker.get("/accounts?platform_login=7,1&limit=1");
    const next = page._links.next.href.slice(base.length);
    expect([page.data[0].id, await idsAt(next)]).toEqual([second.id, [first.id]]);
    await api.call(caller, "PATCH", `/accounts/${first.id}`, { body: { platform_login: "8" } });
    expect(await idsAt("/accounts?platform_login=7,1")).toEqual([second.id]);
    expect(await idsAt("/accounts?platform_login=8")).toEqual([first.id]);
  });

  it("are the account of a number, closed or not, and in the list of a client only if it is theirs", async () => {
    const account = await create((await broker.client()).id, { number: "12345678" });
    const { id: other } = await broker.client();
    for (const status of ["disabled", "closed"]) {
      const answer = await api.call(caller, "PATCH", `/accounts/${account.id}`, { body: { status } });
      expect(answer.body.status).toBe(status);
    }
    expect(await idsAt("/accounts?number=12345678")).toEqual([account.id]);
    expect(await idsAt("/accounts?number=12345678&status=active")).toEqual([]);
    expect(await idsAt(`/clients/${account.client_id}/accounts?number=12345678`)).toEqual([account.id]);
    expect(await idsAt(`/clients/${other}/accounts?number=12345678`)).toEqual([]);
    expect(await api.call(newCaller(), "GET", "/accounts?number=12345678")).toMatchObject({ body: { data: [] } });
  });

  it("are the transaction of an external id, in the list of an account or a client only if it is theirs", async () => {
    const [account, other] = [await broker.account("10.00"), await broker.account("10.00")];
    const { id } = await broker.deposit(account, "1.00", { external_id: "pay,1" });
    await broker.client({ external_id: "pay,2" });
    const found = async (address: string) => [address, await idsAt(address)];
    const own = ["", `&account_id=${account.id}`, `&client_id=${account.client_id}`, "&status=pending,completed"];
    const foreign = [
      `&account_id=${other.id}`,
      `&client_id=${other.client_id}`,
      "&status=completed",
      "&kind=withdrawal",
    ];
    for (const more of own.map((each) => `/transactions?external_id=pay,1${each}`)) {
      expect(await found(more)).toEqual([more, [id]]);
    }
    for (const more of foreign.map((each) => `/transactions?external_id=pay,1${each}`)) {
      expect(await found(more)).toEqual([more, []]);
    }
    for (const [{ id: account_id, client_id }, ids] of [
      [account, [id]],
      [other, []],
    ] as const) {
      expect(await idsAt(`/accounts/${account_id}/transactions?external_id=pay,1`)).toEqual(ids);
      expect(await idsAt(`/clients/${client_id}/transactions?external_id=pay,1`)).toEqual(ids);
    }
    expect(await idsAt("/transactions?external_id=pay,2")).toEqual([]);
  });
});
