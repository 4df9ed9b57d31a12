import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { routes } from "../../../shared/routes/index.ts";
import type { Route } from "../../../shared/routes/route.ts";
import { applications, operators } from "../../../shared/table/entities.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { addressOf, asOperator, newCaller, type TestCaller } from "../../support/emulator/request.ts";

const api = await startApi("watched");
afterAll(async () => api.stop());
afterEach(() => {
  api.watched.interfere = () => undefined;
});

const commands = routes.filter(({ method, auth }) => method !== "GET" && auth === "token");
const standing = commands.filter((row) => row.standing !== undefined);

/** Commands about neither credentials, people, settings, approvals nor money, reports of a platform, and a preview. */
const others = [
  "create_margin_preview",
  ...["create_client", "update_client", "create_review", "create_account", "disable_account", "create_stream_ticket"],
  ...["send_feed_batch", "send_feed_quotes", "send_feed_snapshot", "begin_feed_epoch", "take_commands", "ack_command"],
];

it("every other command reads its caller, and one that shows a secret has them as a condition", () => {
  const without = commands.filter((row) => row.standing === undefined && row.stages.includes("production"));
  expect(without.map(({ id }) => id).toSorted()).toEqual(others.toSorted());
  const shown = routes.filter(({ secret }) => secret === true);
  expect(shown.filter((row) => row.standing !== "held").map(({ id }) => id)).toEqual([]);
});

/** Changes the stored item of a caller, past the service. */
async function change(caller: TestCaller, set: Readonly<Record<string, unknown>>): Promise<void> {
  const { tenant_id, application_id, operator } = caller;
  const { pk, sk } = operator ? operators.key(tenant_id, operator.id) : applications.key(tenant_id, application_id);
  const names = Object.keys(set);
  await api.emulator.client.send(
    new UpdateItemCommand({
      TableName: api.emulator.tableName,
      Key: marshall({ pk, sk }),
      UpdateExpression: `SET ${names.map((name, index) => `#${index} = :${name}`).join(", ")} ADD version :one`,
      ExpressionAttributeNames: Object.fromEntries(names.map((name, index) => [`#${index}`, name])),
      ExpressionAttributeValues: marshall({
        ...Object.fromEntries(names.map((name) => [`:${name}`, set[name]])),
        ":one": 1,
      }),
    }),
  );
}

const send = (row: Route, caller: TestCaller) =>
  api.call(caller, row.method, addressOf(row), row.body === undefined ? {} : { body: row.example });

/** Callers whom the authorizer let in within the minute, and what has become of them since. */
const stories = {
  "a revoked application": [(it: TestCaller) => it, { status: "revoked" }, 401],
  "an application whose secret was rotated without grace": [(it: TestCaller) => it, { secret_number: 2 }, 401],
  "an application that lost its scopes": [(it: TestCaller) => it, { scopes: ["quotes:read"] }, 403],
  "a suspended owner": [(it: TestCaller) => asOperator(it, "Ana", "owner"), { status: "suspended" }, 401],
  "a removed owner": [(it: TestCaller) => asOperator(it, "Ana", "owner"), { status: "removed" }, 401],
  "a lowered owner": [(it: TestCaller) => asOperator(it, "Ana", "owner"), { role: "viewer" }, 403],
} as const;

describe.each(Object.entries(stories))("%s is refused at once, with a sentence,", (_, [as, set, status]) => {
  const active = as(newCaller());
  const ended = as(newCaller());

  it.each(standing.map((row) => [row.id, row] as const))("%s", async (_id, row) => {
    if ((await api.call(ended, "GET", "/me")).status === 200) await change(ended, set);
    const answer = await send(row, ended);
    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringMatching(/^The .*[.]$/)]);
    if (status === 401) expect(answer.headers["WWW-Authenticate"]).toContain("invalid_token");
    expect([401, 403]).not.toContain((await send(row, active)).status);
  });
});

it("an owner who is finance now gets a token for that, whatever they ask for", async () => {
  const owner = asOperator(newCaller(), "Ana", "owner");
  await api.call(owner, "GET", "/me");
  await change(owner, { role: "finance" });
  const { id } = await brokerage(api, { ...newCaller(), tenant_id: owner.tenant_id }).account();
  const body = { account_id: id, amount: "1.00" };
  const answer = await api.call(owner, "POST", "/transactions/deposit", { body });
  expect([answer.status, answer.body.code]).toEqual([401, "unauthenticated"]);
});

describe("a caller who ends between the read and the commit", () => {
  /** The table is asked to commit only after the caller has changed. */
  const endAtCommit = (caller: TestCaller, set: Readonly<Record<string, unknown>>) => {
    let ended = false;
    api.watched.interfere = async ({ operation }) => {
      if (operation !== "TransactWriteItems" || ended) return undefined;
      ended = true;
      await change(caller, set);
      return undefined;
    };
  };

  it("makes no application", async () => {
    const caller = newCaller();
    await api.call(caller, "GET", "/me");
    endAtCommit(caller, { status: "revoked" });
    const answer = await api.call(caller, "POST", "/applications", { body: { name: "Late", scopes: ["events:read"] } });
    expect(answer.status).toBe(401);
    expect((await scanTable(api.emulator)).filter(({ name }) => name === "Late")).toEqual([]);
  });

  it("approves nothing as an operator", async () => {
    const maker = newCaller();
    await api.call(maker, "PATCH", "/settings", { body: { four_eyes: true } });
    const own = brokerage(api, maker);
    const deposit = await own.deposit(await own.account(), "1.00");
    const approver = asOperator(maker, "Ana", "finance");
    await api.call(approver, "GET", "/me");
    endAtCommit(approver, { status: "suspended" });
    const answer = await api.call(approver, "POST", `/transactions/${deposit.id}/approve`, { body: {} });
    expect(answer.status).toBe(401);
    expect((await own.get(`/transactions/${deposit.id}`)).status).toBe("pending");
  });

  it("rotates its own secret once: it is changed itself, so that there is one condition on it", async () => {
    const caller = newCaller();
    await api.call(caller, "GET", "/me");
    const path = `/applications/${caller.application_id}/rotate_secret`;
    const headers = { "Idempotency-Key": "own-rotation" };
    const rotate = () => api.call(caller, "POST", path, { body: { grace_seconds: 0 }, headers });
    const first = await rotate();
    expect(first.status).toBe(200);
    // The answer was lost: its key shows it again, and nothing else is done any more.
    expect((await rotate()).text).toBe(first.text);
    expect((await api.call(caller, "POST", path, { body: { grace_seconds: 0 } })).status).toBe(401);
  });
});
