import { fileURLToPath } from "node:url";
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import { operatorEnvironment } from "../../../infra/local/cloud.ts";
import type { ReconciliationBody } from "../../../shared/schema/internal-money/reconciliation.ts";
import { balances } from "../../../shared/table/entities.ts";
import { startCommandProcess } from "../../support/command-process.ts";
import { fundedAccount } from "../../support/stack/api-client.ts";
import { tableClient, tableNameOf } from "../../support/stack/cloud-tables.ts";
import { type Stack, sharedStack } from "../../support/stack/stack.ts";
import { eventually } from "../../support/wait.ts";

const commands = startCommandProcess(fileURLToPath(new URL("../../../", import.meta.url)));
const command = fileURLToPath(new URL("../../../infra/tools/reconcile.ts", import.meta.url));

let stack: Stack;
beforeAll(async () => {
  stack = await sharedStack();
});
afterAll(async () => {
  await commands.stop();
  await stack?.stop();
});

/** Runs `npm run reconcile` with the credentials of the operator in its environment, as on AWS. */
async function reconcile(...words: string[]): Promise<{ readonly code: number | null; readonly text: string }> {
  const { PATH = "", HOME = "" } = process.env;
  const env = { PATH, HOME, ...operatorEnvironment(stack.cloud) };
  const { code, stdout, stderr } = await commands.run(command, words, env);
  return { code, text: stdout + stderr };
}

it("npm run reconcile compares the books, and reports and announces a cent that was added to a balance", async () => {
  const { api, tenant_id } = await stack.newApplication();
  const { account_id } = await fundedAccount(api, "100.00");
  const newest = async () => {
    const { body } = await api.call<{ data: ReconciliationBody[] }>("GET", "/reports/reconciliation");
    return body.data[0];
  };
  const first = await reconcile();
  expect(first).toMatchObject({ code: 0, text: expect.stringContaining('"failed":0') });
  expect(await newest()).toMatchObject({ status: "completed", difference_count: 0, checked: { accounts: 1 } });

  const { pk, sk } = balances.key(tenant_id, account_id);
  const client = tableClient(stack.cloud);
  const change = (minor: number) =>
    client.send(
      new UpdateItemCommand({
        TableName: tableNameOf(stack.cloud, "main"),
        Key: marshall({ pk, sk }),
        UpdateExpression: "ADD balance_minor :minor, available_minor :minor",
        ExpressionAttributeValues: marshall({ ":minor": minor }),
      }),
    );
  await change(1);
  expect((await reconcile("--stage", "sandbox")).code).toBe(0);
  const difference = { object_id: account_id, field: "balance", expected: "100.00", found: "100.01" };
  const found = await newest();
  expect(found).toMatchObject({ status: "completed", difference_count: 1, differences: [difference] });
  const event = await eventually(async () => {
    const { body } = await api.call<{ data: { data: { object: ReconciliationBody } }[] }>(
      "GET",
      "/events?type=reconciliation.difference_found",
    );
    return body.data[0];
  });
  expect(event.data.object).toMatchObject({ id: found?.id, differences: [difference] });
  await change(-1);
  client.destroy();
});

it("npm run reconcile says which function it invokes", async () => {
  expect(await reconcile("--help")).toMatchObject({ code: 0, text: expect.stringContaining("reconcile-books") });
});
