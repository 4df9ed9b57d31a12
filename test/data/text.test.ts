import { afterAll, describe, expect, it } from "vitest";
import type { Client } from "../../shared/domain/records/client.ts";
import { newId } from "../../shared/runtime/ids.ts";
import { clients, uniques } from "../../shared/table/entities.ts";
import { brokerage, clientRequest } from "../support/builders/brokerage.ts";
import { putItem } from "../support/builders/trading-data.ts";
import { startApi } from "../support/emulator/api.ts";
import { newCaller } from "../support/emulator/request.ts";

const api = await startApi();
afterAll(api.stop);

const caller = newCaller();
const broker = brokerage(api, caller);
const composed = "Zo\u00eb-1";
const decomposed = composed.normalize("NFD");
const find = (query: string, value: string) => broker.get(`/clients?${query}=${encodeURIComponent(value)}`);

describe("two spellings of one text", () => {
  it("are one external id and one email address", async () => {
    const first = await broker.client({ external_id: decomposed, email: "zoe\u0308@example.com" });
    expect(first).toMatchObject({ external_id: composed, email: "zo\u00eb@example.com" });
    const second = (more: object) => api.call(caller, "POST", "/clients", { body: clientRequest(more) });
    expect(await second({ external_id: composed })).toMatchObject({ status: 409, body: { code: "external_id_taken" } });
    expect(await second({ email: "ZO\u00cb@example.com" })).toMatchObject({
      status: 409,
      body: { code: "email_taken" },
    });
    for (const spelling of [composed, decomposed]) {
      expect((await find("external_id", spelling)).data.map(({ id }: Client) => id)).toEqual([first.id]);
    }
  });

  it("find what was stored before text was normalised, by its value and by its tags", async () => {
    const known = await broker.client();
    const old = { ...known, id: newId("cli"), external_id: `old ${decomposed}`, tags: [decomposed] };
    const { tenant_id } = caller;
    await putItem(api, clients, { ...old, tenant_id } as unknown as Client);
    const keyOf = () => uniques.key(tenant_id, "client_external_id", old.external_id);
    await putItem(api, { et: uniques.et, keyOf }, { owner_id: old.id });
    for (const [query, value] of [
      ["external_id", `old ${composed}`],
      ["external_id", `old ${decomposed}`],
      ["tag", composed],
    ] as const) {
      expect((await find(query, value)).data.map(({ id }: Client) => id)).toEqual([old.id]);
    }
  });
});
