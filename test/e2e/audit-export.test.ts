import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import { operatorEnvironment } from "../../infra/local/cloud.ts";
import { accessToken, type Credentials } from "../../infra/tools/api-call.ts";
import { draftTenant } from "../../shared/domain/access/tenant.ts";
import type { WaitingAudit } from "../../shared/domain/audit/entry.ts";
import { dayKeys, lastDayOver } from "../../shared/domain/audit/seal.ts";
import { limits } from "../../shared/limits.ts";
import { newId } from "../../shared/runtime/ids.ts";
import { type Entity, outboxes, tenants } from "../../shared/table/entities.ts";
import { typeTag } from "../../shared/table/write.ts";
import { startCommandProcess } from "../support/command-process.ts";
import { apiClient } from "../support/stack/api-client.ts";
import { tableClient, tableNameOf } from "../support/stack/cloud-tables.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";

/** An application of a brokerage whose chain begins on the last day: its creation leaves an entry of today. */
type Made = Credentials & { readonly tenant_id: string; readonly application_id: string };

const commands = startCommandProcess(fileURLToPath(new URL("../../", import.meta.url)));
const command = fileURLToPath(new URL("../../infra/tools/audit/run.ts", import.meta.url));
const day = lastDayOver(new Date().toISOString(), limits.audit.sealed_after_seconds);
const folder = mkdtempSync(join(tmpdir(), "brokerage-export-"));

let stack: Stack;
let own: Made;
let bucket: string;
beforeAll(async () => {
  stack = await sharedStack();
  const tenant_id = newId("brk");
  const tenant = draftTenant(tenant_id, `${day}T23:59:50.000Z`);
  await store(tenants, tenant, tenant);
  for (const number of [1, 2, 3]) await commandOfLastDay(tenant_id, number);
  // This wakes the reader of the stream, past which the others were written, and it reads them in this order.
  const request = { action: "create_application", tenant_id, name: "Test", scopes: null };
  own = (await stack.cloud.invoke("brokerage-sandbox-provision", request)).payload as Made;
  bucket = stack.cloud.assembly.outputs["AuditBucketName"] ?? "";
});
afterAll(async () => {
  await commands.stop();
  rmSync(folder, { recursive: true, force: true });
  await stack?.stop();
});

/** Runs `npm run audit` with the credentials of the operator in its environment, as on AWS. */
async function audit(...words: string[]): Promise<{ readonly code: number | null; readonly text: string }> {
  const { PATH = "", HOME = "" } = process.env;
  const env = { PATH, HOME, ...operatorEnvironment(stack.cloud) };
  const { code, stdout, stderr } = await commands.run(command, words, env);
  return { code, text: stdout + stderr };
}

const verify = (...words: string[]) => audit("verify", ...words, "--brokerage", own.tenant_id);

/** Outbox item of a command of the last day, which nothing has published yet. */
async function commandOfLastDay(tenant_id: string, number: number): Promise<void> {
  const at = `${day}T23:59:5${number}.000Z`;
  const waiting: WaitingAudit = {
    ...{ action: "update_settings", ip: "192.0.2.1", user_agent: null, at, request_id: newId("req") },
    actor: { type: "application", id: newId("app"), name: "CRM" },
    resource: { type: "settings", id: tenant_id },
    changes: [{ resource: { type: "settings", id: tenant_id }, before: { number: number - 1 }, after: { number } }],
  };
  const outbox = {
    ...{ id: newId("obx"), tenant_id, root_id: tenant_id, root_version: 0, events: [] },
    ...{ audit: JSON.stringify(waiting), created_at: at, wake_at: at },
  };
  // Without keys of the due index: it is not to be found there, only in the stream.
  await store(outboxes, outbox, outboxes.toStored(outbox));
}

/** Writes an item as it is stored, past the service. */
async function store<T extends object>({ keyOf, et }: Entity<T>, value: NoInfer<T>, members: object): Promise<void> {
  const item = { ...keyOf(value), ...typeTag(et), ...members };
  const client = tableClient(stack.cloud);
  await client.send(new PutItemCommand({ TableName: tableNameOf(stack.cloud, "main"), Item: marshall(item) }));
  client.destroy();
}

it("a day that is over reaches the bucket, is announced, and is found in order by the command", async () => {
  const api = apiClient(stack.baseUrl, await accessToken(stack.baseUrl, own));
  await eventually(async () => {
    const { body } = await api.call<{ data: object[] }>("GET", "/audit_log");
    return body.data.length === 5 || undefined;
  });
  expect(await stack.cloud.invoke("brokerage-sandbox-seal-audit", { action: "seal" })).not.toHaveProperty(
    "functionError",
  );
  const event = await eventually(async () => {
    const { body } = await api.call<{ data: Sealed[] }>("GET", "/events?type=audit.sealed");
    return body.data[0];
  });
  const { hash, _links: links, ...sealed } = event.data.object;
  expect(sealed).toMatchObject({ object: "audit_seal", day, entries: 3, last_sequence: "3" });
  const checked = await api.call("GET", links.self.href.replace(/^.*\/v2/, ""));
  expect(checked).toMatchObject({ status: 200, body: { intact: true, checked: 3, hash } });
  const found = await verify("--bucket", bucket, "--head", hash);
  expect(found.text).toContain(`intact  ${own.tenant_id}: 1 days, ${day} to ${day}, 3 entries\n  head 3 ${hash}\n`);
  // The buckets here keep one version of each object, which the command must not pass off as a history in order.
  expect(found.text).toContain("\nNOT CHECKED  versions: this server of buckets keeps one version of each object\n");
  expect(found.code).toBe(0);
  expect(await verify("--bucket", bucket, "--head", "0".repeat(64))).toMatchObject({ code: 2 });
});

interface Sealed {
  readonly data: { readonly object: { readonly hash: string; readonly _links: { readonly self: { href: string } } } };
}

it("a copy of the bucket is checked without any service, and names the line that was changed", async () => {
  const key = dayKeys.part(own.tenant_id, day, 1);
  for (const each of [key, dayKeys.manifest(own.tenant_id, day)]) {
    const object = stack.cloud.buckets.get(bucket, each);
    mkdirSync(dirname(join(folder, each)), { recursive: true });
    writeFileSync(join(folder, each), object?.body ?? "");
  }
  expect(await verify("--dir", folder)).toMatchObject({ code: 0 });
  const object = stack.cloud.buckets.get(bucket, key);
  const text = gunzipSync(object?.body ?? "").toString();
  writeFileSync(join(folder, key), gzipSync(text.replace('"number":2', '"number":7')));
  const { code, text: said } = await verify("--dir", folder);
  expect(code).toBe(2);
  expect(said).toMatch(/BROKEN {2}brk_\w+: entry 2 \(aud_\w+\) was changed\n {2}\S+\/000001\.ndjson\.gz, line 2\n/);
});

it("the command says in a sentence what it lacks", async () => {
  const missing = await audit("verify", "--bucket", "no-such-bucket");
  expect(missing).toEqual({ code: 1, text: expect.stringMatching(/^The bucket could not be read: [^\n]+\n$/) });
  const other = newId("brk");
  const gone = await audit("verify", "--bucket", bucket, "--brokerage", other);
  expect(gone).toMatchObject({
    code: 2,
    text: expect.stringContaining(`BROKEN  ${other}: none of its days is there\n`),
  });
});
