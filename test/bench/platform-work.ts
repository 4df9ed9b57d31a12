import { randomUUID } from "node:crypto";
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { commands } from "../../shared/table/entities.ts";
import { bridge } from "../support/builders/bridge.ts";
import { brokerage } from "../support/builders/brokerage.ts";
import type { TestApi } from "../support/emulator/api.ts";
import { readStream } from "../support/emulator/raw-table.ts";
import { newCaller, type TestCaller } from "../support/emulator/request.ts";
import type { Asked } from "./workload.ts";

const reason = { code: "checked" };

/** A brokerage of its own with an account that a source keeps, and what its bridge sends. */
async function linkedAccount(api: TestApi) {
  const as = newCaller();
  const broker = brokerage(api, as);
  const platform = bridge(api, as);
  const source = await platform.newSource();
  const platform_login = platform.unusedLogin();
  const link = { type: "demo", platform: "mt5", platform_login, source_id: source.id };
  const account: { readonly id: string } = await broker.account(undefined, link);
  const ask = async (method: string, address: string, body: object = {}, headers: Record<string, string> = {}) => {
    const answer = await api.call(as, method, address, method === "GET" ? {} : { body, headers });
    if (answer.status >= 300) throw new Error(`${method} ${address}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  /** A deposit that waits for a command of the platform. */
  const order = async () => {
    const { command_id } = await broker.deposit(account, "1.00", { status: "completed" });
    return `${source.path}/commands/${command_id}`;
  };
  const take = () => ask("POST", `${source.path}/commands/take`, {}, { "Idempotency-Key": randomUUID() });
  /** A snapshot of one account that has a cent which is not here. */
  const snapshot = async () => {
    const seq = BigInt((await source.get()).expected_next_seq) - 1n;
    return {
      ...{ snapshot_id: "S-1", taken_at: new Date().toISOString(), as_of_seq: String(seq) },
      ...{ part: 1, parts: 1, complete: false },
      accounts: [{ platform_login, balance: "0.01", credit: "0.00", positions: [] }],
    };
  };
  return { as, source, ask, order, take, snapshot };
}

/** Lets an hour pass since the lease of a command ended. */
async function leaseEnded({ emulator }: TestApi, { tenant_id }: TestCaller, address: string): Promise<void> {
  await emulator.client.send(
    new UpdateItemCommand({
      TableName: emulator.tableName,
      Key: marshall(commands.key(tenant_id, address.split("/").at(-1) ?? "")),
      UpdateExpression: "SET lease_until = :past",
      ConditionExpression: "attribute_exists(lease_until)",
      ExpressionAttributeValues: marshall({ ":past": new Date(Date.now() - 3_600_000).toISOString() }),
    }),
  );
}

/** Requests of a bridge with its commands and snapshots, by the id of the row. */
export function platformWork(api: TestApi): Readonly<Record<string, () => Promise<Asked>>> {
  const own = () => linkedAccount(api);
  const drift = async () => {
    const { as, source, ask, snapshot } = await own();
    await ask("POST", `${source.path}/snapshots`, await snapshot());
    const { data } = await ask("GET", "/drift");
    return { as, source, address: `/drift/${data[0].id}` };
  };
  return {
    update_feed_source: async () => {
      const { as, source } = await own();
      return { as, address: source.path, parts: { body: { paused: true } } };
    },
    delete_feed_source: async () => {
      const as = newCaller();
      return { as, address: (await bridge(api, as).newSource()).path };
    },
    list_commands: async () => {
      const { as, source, order } = await own();
      await order();
      return { as, address: `${source.path}/commands` };
    },
    get_command: async () => {
      const { as, order } = await own();
      return { as, address: await order() };
    },
    take_commands: async () => {
      const { as, source, order } = await own();
      await order();
      const headers = { "Idempotency-Key": randomUUID() };
      return { as, address: `${source.path}/commands/take`, parts: { body: {}, headers } };
    },
    ack_command: async () => {
      const { as, order, take } = await own();
      const address = await order();
      await take();
      const body = { attempt: 1, status: "done", operation_id: "B-1" };
      return { as, address: `${address}/ack`, parts: { body } };
    },
    requeue_command: async () => {
      const { as, ask, order, take } = await own();
      const address = await order();
      await take();
      await ask("POST", `${address}/ack`, { attempt: 1, status: "unknown" });
      const { data } = await take();
      await ask("POST", `${address.replace(/[^/]+$/, data[0].id)}/ack`, { attempt: 1, status: "done" });
      await leaseEnded(api, as, address);
      return { as, address: `${address}/requeue` };
    },
    send_feed_snapshot: async () => {
      const { as, source, snapshot } = await own();
      return { as, address: `${source.path}/snapshots`, parts: { body: await snapshot() } };
    },
    list_feed_snapshots: async () => {
      const { as, source } = await drift();
      return { as, address: `${source.path}/snapshots` };
    },
    get_feed_snapshot: async () => {
      const { as, source } = await drift();
      return { as, address: `${source.path}/snapshots/S-1` };
    },
    list_drift: async () => ({ as: (await drift()).as, address: "/drift" }),
    get_drift: async () => {
      const { as, address } = await drift();
      return { as, address };
    },
    resolve_drift: async () => {
      const { as, address } = await drift();
      return { as, address: `${address}/resolve`, parts: { body: { action: "adopt_platform", reason } } };
    },
  };
}

/** A brokerage of its own whose first command is in its audit log, and requests of that log by the id of the row. */
export function auditWork(api: TestApi): Readonly<Record<string, () => Promise<Asked>>> {
  const logged = async (address: (id: string) => string) => {
    const { publishing } = await import("../support/emulator/publishing.ts");
    const as = newCaller();
    await brokerage(api, as).account();
    const records = (await readStream(api.emulator)).filter(
      ({ eventName, dynamodb: { NewImage: image } }) =>
        eventName === "INSERT" && image?.["et"]?.S === "OUTBOX" && image["tenant_id"]?.S === as.tenant_id,
    );
    await publishing(api).publish(records);
    const { body } = await api.call(as, "GET", "/audit_log");
    return { as, address: address(body.data[0].id) };
  };
  return {
    list_audit_entries: () => logged(() => "/audit_log"),
    verify_audit_log: () => logged(() => "/audit_log/verification"),
    get_audit_entry: () => logged((id) => `/audit_log/${id}`),
  };
}
