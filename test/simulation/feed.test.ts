import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AwsCall } from "../../infra/local/cloud.ts";
import { type RawItem, scanTable } from "../support/emulator/raw-table.ts";
import { someClient } from "../support/stack/api-client.ts";
import { tableClient, tableNameOf } from "../support/stack/cloud-tables.ts";
import { type Stack, watchedStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";
import { feedPrices, feedProgram, feedSymbols, modelOf, outcomesOf } from "./feed-program.ts";

/** The long form is `FEED_EXECUTIONS=10000 FEED_ACCOUNTS=200`. */
const executions = Number(process.env["FEED_EXECUTIONS"] ?? 160);
const accountCount = Number(process.env["FEED_ACCOUNTS"] ?? 10);
const seed = Number(process.env["SIMULATION_SEED"] ?? 20_261_121);
const perBatch = Math.min(100, Math.ceil(executions / 4));
const sender = "brokerage-sandbox-send-feed-batch";

/** Ends the sender at the nth of its transactions, before or after it is written. */
class Killer {
  private left = 0;
  private phase: AwsCall["phase"] = "before";
  killed = 0;

  arm(after: number, phase: AwsCall["phase"]): void {
    this.left = after;
    this.phase = phase;
  }

  readonly watch = (call: AwsCall): void => {
    const aimed = call.functionName === sender && call.action.endsWith("TransactWriteItems");
    if (this.left === 0 || !aimed || call.phase !== this.phase) return;
    this.left -= 1;
    if (this.left > 0) return;
    this.killed += 1;
    call.kill();
  };
}

const killer = new Killer();
const start = watchedStack();
let stack: Stack;
let client: DynamoDBClient;
beforeAll(async () => {
  stack = await start(killer.watch);
  client = tableClient(stack.cloud);
});
afterAll(async () => {
  client?.destroy();
  await stack?.stop();
});

const post = async <T>(path: string, body: unknown, status: number): Promise<T> => {
  const reply = await stack.api.call<T>("POST", path, { body });
  if (reply.status !== status) throw new Error(`${path}: ${reply.status} ${reply.text}`);
  return reply.body;
};

/** Accounts as the program has them; a client may have fifty. */
async function openAccounts(program: ReturnType<typeof feedProgram>): Promise<string[]> {
  const ids: string[] = [];
  let owner = "";
  for (const [place, { login, ...terms }] of program.accounts.entries()) {
    if (place % 50 === 0) owner = (await post<{ id: string }>("/clients", someClient(), 201)).id;
    const body = { client_id: owner, type: "demo", platform: "mt5", platform_login: login, ...terms };
    ids.push((await post<{ id: string }>("/accounts", body, 201)).id);
  }
  return ids;
}

interface Receipt {
  readonly expected_next_seq: string;
  readonly results: readonly { readonly seq: string; readonly status: string; readonly code?: string }[];
}

/** Sends a batch until it is settled, as a bridge does whose call was lost. */
async function deliver(path: string, items: readonly object[], first: number, tally: Map<string, number>) {
  const numbered = items.map((item, place) => ({ seq: String(first + place), ...item }));
  let rest = numbered;
  while (rest.length > 0) {
    const reply = await stack.api.call<Receipt>("POST", `${path}/batches`, {
      body: { first_seq: rest[0]?.seq, items: rest },
    });
    if (reply.status >= 500) continue;
    expect(reply.status, reply.text).toBe(200);
    const next = Number(reply.body.expected_next_seq);
    for (const { seq, status, code } of reply.body.results) {
      if (Number(seq) < next) tally.set(code ?? status, (tally.get(code ?? status) ?? 0) + 1);
    }
    rest = numbered.slice(next - first);
  }
}

async function items(): Promise<RawItem[]> {
  return scanTable({ client, tableName: tableNameOf(stack.cloud, "main") });
}

const countOf = (names: readonly string[]) =>
  Object.fromEntries(
    ["trade.opened", "trade.closed"].map((kind) => [kind, names.filter((each) => each === kind).length]),
  );

describe("a feed with duplicates, a gap, poison, and a sender that is killed twice", () => {
  it("ends in exactly the state of the same feed applied once in memory, with each event once", async () => {
    const program = feedProgram(seed, accountCount, executions);
    const name = "mt5:live-1";
    const model = modelOf(program, name);
    const ids = await openAccounts(program);
    const source = await post<{ id: string }>(
      "/feed/sources",
      { name, platform: "mt5", authoritative: "service" },
      201,
    );
    const path = `/feed/sources/${source.id}`;
    const symbols = feedSymbols.map(
      ({ tenant_id: _t, halted: _h, created_at: _c, updated_at: _u, version: _v, ...data }) => ({
        type: "symbol",
        data,
      }),
    );
    const tally = new Map<string, number>();
    await deliver(path, symbols, 1, tally);
    const time = new Date().toISOString();
    const quotes = feedPrices.map(([symbol, [bid, ask]]) => ({ symbol, bid, ask, time, seq: "1" }));
    await post(`${path}/quotes`, { quotes }, 200);
    const batches = Array.from({ length: Math.ceil(program.items.length / perBatch) }, (_, place) =>
      program.items.slice(place * perBatch, (place + 1) * perBatch),
    );
    const started = performance.now();
    for (const [place, batch] of batches.entries()) {
      const first = symbols.length + 1 + place * perBatch;
      if (place === 1) {
        const early = { first_seq: String(first + 1), items: [] };
        const gap = await stack.api.call("POST", `${path}/batches`, { body: early });
        expect([gap.status, gap.body]).toEqual([409, expect.objectContaining({ expected_seq: String(first) })]);
        killer.arm(2, "before");
      }
      if (place === 2) killer.arm(3, "after");
      await deliver(path, batch, first, tally);
    }
    const seconds = (performance.now() - started) / 1000;
    const rate = `${seconds.toFixed(1)} s: ${Math.round(program.items.length / seconds)} items per second`;
    const size = `${program.items.length} items, ${executions} executions over ${accountCount} accounts`;
    console.log(`${size} in ${rate}, ${JSON.stringify(Object.fromEntries(tally))}`);
    expect(killer.killed).toBe(2);
    const all = await eventually(async () => {
      const found = await items();
      return found.some(({ et }) => et === "OUTBOX") ? undefined : found;
    }, 600_000);
    expect(outcomesOf(all, ids)).toEqual(model.outcomes);
    expect(countOf(all.flatMap((item) => (item["et"] === "EVENT" ? [String(item["type"])] : [])))).toEqual(
      countOf(model.events),
    );
    const rejects = all.filter(({ et }) => et === "REJECT").map((item) => String(item["code"]));
    expect(rejects.toSorted()).toEqual([
      "unknown_position",
      "validation_failed",
      "validation_failed",
      "validation_failed",
    ]);
  }, 3_600_000);
});
