import { outboxes } from "../../../shared/table/entities.ts";
import { findAll } from "../../../shared/table/store.ts";
import { bridge } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";

export const api = await startJudgedApi();

export const caller = newCaller();

export const broker = brokerage(api, caller);

await putMarket(api, caller.tenant_id);

export const call = (method: string, address: string, body?: unknown) =>
  api.call(caller, method, address, body === undefined ? {} : { body });

export const { newSource, trader, unusedLogin } = bridge(api, caller);

/** Outbox items that wait. */
export async function outboxesOf() {
  const keys = (await scanTable(api.emulator)).flatMap(({ et, pk, sk }) =>
    et === "OUTBOX" ? [{ pk: String(pk), sk: String(sk) }] : [],
  );
  return findAll(outboxes, keys);
}
