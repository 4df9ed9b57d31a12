import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Client, clientBody } from "../../shared/domain/client.ts";
import { clientFilters, resourcePage } from "../../shared/http/filters.ts";
import { pageReply } from "../../shared/http/page.ts";
import { validQuery } from "../../shared/http/validate.ts";
import { listClients } from "../../shared/routes/clients.ts";
import { replyOrder } from "../../shared/schema/member-order.ts";
import { clients } from "../../shared/table/entities.ts";
import { clientRequest } from "../support/builders/brokerage.ts";
import { startApi, type TestAnswer } from "../support/emulator/api.ts";
import { newCaller } from "../support/emulator/request.ts";

const api = await startApi();
afterAll(api.stop);
const { pageOfIndex } = await import("../../shared/table/list.ts");

const base = "https://api.test.example/v2";
const caller = newCaller();

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

  /** What the list shows when each client of the brokerage is filtered. */
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
    for (const address of named.flatMap((name) => [...others, ...bounds].map((more) => `/clients?${name}${more}`))) {
      const forward = await walk(`${address}&limit=1`, "next");
      await walk(forward.at(-1)?.body._links.prev?.href.slice(base.length), "prev");
      most = Math.max(most, forward.flatMap(({ body }) => body.data).length);
    }
    // Several closed clients had one address, so their pages were walked.
    expect(most).toBeGreaterThan(2);
    console.log(`${moments.length} clients, ${pages} pages, at most ${most} clients with one address`);
  });
});
