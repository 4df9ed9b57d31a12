import { describe, expect, it } from "vitest";
import { opening } from "../../support/builders/bridge.ts";
import { broker, newSource, trader } from "./feed-cases.ts";

const update = (type: string, data: object, at?: string) => ({ type, data, ...(at === undefined ? {} : { at }) });

const said = (results: readonly { status: string }[]) => results.map(({ status }) => status);

describe("what a platform changes", () => {
  it("of a position and of an account is applied once, in the order of the feed", async () => {
    const [source, { id, login }] = [await newSource({ swap_reporting: "accrued" }), await trader()];
    const at = "2026-11-21T06:31:00.000Z";
    const items = [
      opening(login, "D-1", "P-1"),
      update("position_update", { position_id: "P-1", stop_loss: "1.09", swap: "-6.20" }, at),
      update("account_update", { platform_login: login, leverage: 50, group: "vip", access: "close_only" }, at),
      update("position_update", { position_id: "P-1", stop_loss: null, swap: "-7.00" }, "2026-11-21T06:32:00.000Z"),
    ];
    expect(said(await source.send(...items))).toEqual(["applied", "applied", "applied", "applied"]);
    expect(said(await source.send(...items))).toEqual(["duplicate", "duplicate", "duplicate", "duplicate"]);
    const [position] = (await broker.get(`/accounts/${id}/positions`)).data;
    expect(position).toMatchObject({ stop_loss: null, swap: "-7.00", used_margin: "2200.20" });
    const account = await broker.get(`/accounts/${id}`);
    expect(account).toMatchObject({ leverage: 50, group_id: "vip", trading_mode: "close_only", balance: "9996.50" });
    const [night] = await source.send(update("swap", { position_id: "P-1", amount: "-1.00", for_date: "2026-11-20" }));
    expect(night).toMatchObject({ status: "rejected", code: "validation_failed" });
    expect(await source.get()).toMatchObject({ swap_reporting: "accrued" });
  });
});
