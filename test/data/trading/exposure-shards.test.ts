import { afterAll, describe, expect, it } from "vitest";
import { limits } from "../../../shared/limits.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { exposures } from "../../../shared/table/entities.ts";
import { putItem, putMarket } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller } from "../../support/emulator/request.ts";

const api = await startApi("stream", "watched");
afterAll(api.stop);
const { readQuoted } = await import("../../../shared/trading/market.ts");
const { replaceQuote } = await import("../../../shared/trading/quotes.ts");
const { marketWatch } = await import("../../support/builders/market-watch.ts");
const market = marketWatch(api);

const calm = ["1.10000", "1.10010"] as const;
const falling = ["1.09400", "1.09410"] as const;

describe("the number of shards on a quote", () => {
  const { exposure_shards: most, first_exposure_shards: least, met_per_exposure_shard: perShard } = limits.trading;
  const tenantWith = async () => {
    const { tenant_id } = newCaller();
    await putMarket(api, tenant_id);
    return tenant_id;
  };
  const stored = async (tenant: string): Promise<Record<string, unknown>> => {
    const quote = (await readQuoted(tenant, ["EURUSD"])).quotes.get("EURUSD");
    return { ...quote };
  };
  const wait = (tenant: string, count: number, trigger: string, shards: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        putItem(api, exposures, {
          ...{ tenant_id: tenant, account_id: newId("acc"), symbol: "EURUSD" },
          ...{ direction: "dn" as const, trigger, shards },
        }),
      ),
    );

  it("is noted by the first look, which looks in all shards: two where nothing is beyond them", async () => {
    const tenant = await tenantWith();
    await wait(tenant, 1, "1099900000000", least);
    const record = await market.price(tenant, "EURUSD", falling, { exposure_shards: undefined });
    api.watched.takeCalls();
    expect(await market.see(record)).toEqual([]);
    const queries = api.watched.takeCalls().filter(({ operation }) => operation === "Query");
    expect(queries).toHaveLength(2 * most + 2 * (most - least));
    expect(market.sentFor()).toHaveLength(1);
    expect(await stored(tenant)).toMatchObject({ exposure_shards: least, version: 2, bid: falling[0] });
  });

  it("is all where an entry waits beyond the first two, so that it is found", async () => {
    const tenant = await tenantWith();
    await wait(tenant, 40, "1", most);
    await market.see(await market.price(tenant, "EURUSD", calm, { exposure_shards: undefined }));
    expect((await stored(tenant))["exposure_shards"]).toBe(most);
  });

  it("rises with the accounts that a price meets, and no price that is on its way takes it back", async () => {
    const tenant = await tenantWith();
    await wait(tenant, least * perShard + 1, "1099900000000", least);
    const record = await market.price(tenant, "EURUSD", falling);
    const before = (await readQuoted(tenant, ["EURUSD"])).quotes.get("EURUSD");
    if (before === undefined) throw new Error("There is no quote.");
    expect(await market.see(record, record)).toEqual([]);
    expect(market.sentFor()).toHaveLength(least * perShard + 1);
    expect(await stored(tenant)).toMatchObject({ exposure_shards: least + 1, bid: falling[0] });
    expect(await replaceQuote(tenant, before, { ...before, bid: "1.09300" })).toBe(false);
    const newest = (await readQuoted(tenant, ["EURUSD"])).quotes.get("EURUSD");
    if (newest === undefined) throw new Error("There is no quote.");
    const { exposure_shards: _none, ...made } = newest;
    expect(await replaceQuote(tenant, newest, { ...made, bid: "1.09300" })).toBe(true);
    expect(await stored(tenant)).toMatchObject({ exposure_shards: least + 1, bid: "1.09300" });
    // A look again at the record of before, as after a crash, lowers nothing.
    await market.see(record);
    expect((await stored(tenant))["exposure_shards"]).toBe(least + 1);
  });
});
