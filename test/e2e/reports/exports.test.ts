import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { JobBody } from "../../../shared/schema/jobs/job.ts";
import { jobs } from "../../../shared/table/entities.ts";
import { csvRows, hashOf } from "../../support/builders/exports.ts";
import { type ApiClient, fundedAccount } from "../../support/stack/api-client.ts";
import { tableClient, tableNameOf } from "../../support/stack/cloud-tables.ts";
import { type Stack, sharedStack } from "../../support/stack/stack.ts";
import { eventually } from "../../support/wait.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await sharedStack();
});
afterAll(() => stack?.stop());

interface Links {
  readonly files: readonly { readonly name: string; readonly signed_url: string }[];
}

/** Starts a job that is due at once, past the minute that lists take to settle. */
async function start(api: ApiClient, tenant_id: string, type: string, parameters: object): Promise<string> {
  const { status, body } = await api.call<JobBody>("POST", "/jobs", { body: { type, parameters } });
  expect([type, status]).toEqual([type, 202]);
  const client = tableClient(stack.cloud);
  const at = new Date(0).toISOString();
  await client.send(
    new UpdateItemCommand({
      TableName: tableNameOf(stack.cloud, "main"),
      Key: marshall(jobs.key(tenant_id, body.id)),
      UpdateExpression: "SET wake_at = :at, due_sk = :due",
      ExpressionAttributeValues: marshall({ ":at": at, ":due": `${at}|${body.id}` }),
    }),
  );
  client.destroy();
  return body.id;
}

it("every type of export is written by the worker and opened by links, each with the rights of its role", async () => {
  const { api, tenant_id } = await stack.newApplication();
  const { account_id } = await fundedAccount(api, "100.00");
  // Its margin is shown at the prices of the market.
  const deal = { account_id, symbol: "EURUSD", side: "buy", lots: "0.01" };
  expect((await api.call("POST", "/sandbox/trades", { body: deal })).status).toBe(201);
  const { body: account } = await api.call<{ client_id: string }>("GET", `/accounts/${account_id}`);
  const past = new Date(Date.now() - 1_000_000).toISOString();
  const asked: readonly (readonly [type: string, parameters: object])[] = [
    ["transactions", { include_names: true }],
    ["transactions", { account_id }],
    ["transactions", { client_id: account.client_id, format: "ndjson" }],
    ["trades", { status: "closed" }],
    ["clients", {}],
    ["accounts", { status: "active" }],
    ["ledger", { to: past, client_id: account.client_id }],
    ["balances", { at: past }],
    ["events", {}],
  ];
  const ids: string[] = [];
  for (const [type, parameters] of asked) ids.push(await start(api, tenant_id, type, parameters));
  await stack.cloud.invoke("brokerage-sandbox-run-jobs", { action: "run" });
  for (const [at, id] of ids.entries()) {
    // A run of the schedule may have claimed it.
    const job = await eventually(async () => {
      const { body } = await api.call<JobBody>("GET", `/jobs/${id}`);
      return body.completed_at === null ? undefined : body;
    });
    expect([asked[at], job.status, job.error]).toEqual([asked[at], "succeeded", null]);
    const { status, body: links } = await api.call<Links>("POST", `/jobs/${id}/links`);
    expect(status).toBe(201);
    for (const [place, { name, signed_url }] of links.files.entries()) {
      const answer = await fetch(signed_url);
      const content = Buffer.from(await answer.arrayBuffer());
      expect([name, answer.status, answer.headers.get("content-disposition")]).toEqual([
        ...[name, 200],
        `attachment; filename="${name}"`,
      ]);
      expect(hashOf(content)).toBe(place === 0 ? job.result?.sha256 : job.result?.files[place - 1]?.sha256);
      if (at === 0 && place === 1) expect(csvRows(content, name)).toMatchObject([{ account_id, amount: "100.00" }]);
      const changed = signed_url.replace(tenant_id, `brk_${"0".repeat(26)}`);
      expect((await fetch(changed)).status).toBe(403);
    }
  }
});
