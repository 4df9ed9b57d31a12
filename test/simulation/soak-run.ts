import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type Cloud, startCloud } from "../../infra/local/cloud.ts";
import { type RawItem, scanTable } from "../support/emulator/raw-table.ts";
import { type Confirmed, type Evidence, judgeRun, type LoggedCall } from "../support/oracles/delivery-oracle.ts";
import { judgeItems } from "../support/oracles/oracle.ts";
import { type ApiClient, patiently, someClient } from "../support/stack/api-client.ts";
import { newApplication } from "../support/stack/application.ts";
import { type Chaos, type ChaosCounts, makeChaos, seeded } from "../support/stack/chaos.ts";
import { tableClient, tableNameOf } from "../support/stack/cloud-tables.ts";
import { type Receiver, startReceiver } from "../support/stack/receiver.ts";
import { quantiles, register } from "../support/stack/webhooks.ts";
import { eventually } from "../support/wait.ts";

/** Faults of an endpoint. */
export type SickEndpoint = "failing" | "silent" | "dead";

/** Options of a run. */
export interface SoakOptions {
  readonly assemblyDir: string;
  /** Events that are written; each goes to every endpoint. */
  readonly events: number;
  /** Applications that write concurrently; each may do 1,000 requests a minute, and writes four events at least. */
  readonly writers: number;
  readonly healthy: number;
  /** Endpoints beside them: one that fails at 40 %, one that never answers, one that is not there. */
  readonly sick: readonly SickEndpoint[];
  /** Whether functions are killed, records repeated and reordered, and the queues purged. */
  readonly chaos: boolean;
  /** One process is killed in this time, on average. */
  readonly kill_every_ms: number;
  /** Events a second, at most. */
  readonly pace: number;
  readonly time_scale: number;
  readonly seed: number;
  /** Whether the run ends when the healthy endpoints have got everything: then only their times count. */
  readonly times_only: boolean;
  /** How long deliveries may wait after the last event without one of them ending, before that is a finding. */
  readonly settle_ms: number;
  readonly log: (line: string) => void;
}

/** Result of a run. */
export interface SoakReport {
  /** Sentences of the oracles; empty when nothing was lost. */
  readonly faults: readonly string[];
  readonly events: number;
  readonly calls: number;
  /** Deliveries by their last status. */
  readonly deliveries: Readonly<Record<string, number>>;
  readonly crashed_claims: number;
  readonly dead_letters: number;
  readonly chaos: ChaosCounts | undefined;
  /** From commit to receipt at the healthy endpoints, in milliseconds. */
  readonly healthy: { readonly median: number; readonly p99: number };
}

const stage = "brokerage-sandbox";
const queues = [
  ...["publish.fifo", "fan-out", "deliver", "deliver-unproven"],
  ...["retry-1m", "retry-5m", "retry-long"],
].map((name) => `${stage}-${name}`);
const deadLetters = `${stage}-deliver-dead`;
const targets = [
  ...["route", "publish", "fan-out", "deliver", "sweep-events"],
  ...["create-client", "create-deposit", "update-transaction"],
];
const failureRate = 0.4;

/** Runs writers, receivers and trouble until every delivery has ended, and judges what is left. */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const dataDir = mkdtempSync(join(tmpdir(), "brokerage-soak-"));
  const receiver = await startReceiver();
  const names = targets.map((name) => `${stage}-${name}`);
  const chaos = options.chaos ? makeChaos(options.seed, names, options.kill_every_ms) : undefined;
  const { assemblyDir, time_scale: timeScale } = options;
  try {
    const cloud = await startCloud({ assemblyDir, dataDir, port: 0, timeScale, ...chaos?.options });
    try {
      return await new Soak(options, cloud, receiver, chaos).run();
    } finally {
      await cloud.stop();
    }
  } finally {
    await receiver.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

class Soak {
  private readonly options: SoakOptions;
  private readonly cloud: Cloud;
  private readonly receiver: Receiver;
  private readonly chaos: Chaos | undefined;
  private readonly calls: LoggedCall[] = [];
  private readonly confirmed: Confirmed[] = [];
  private readonly endpoints = new Map<string, string>();
  private readonly client: DynamoDBClient;
  private readonly random: () => number;
  private written = 0;
  private purged = false;

  constructor(options: SoakOptions, cloud: Cloud, receiver: Receiver, chaos: Chaos | undefined) {
    this.options = options;
    this.cloud = cloud;
    this.receiver = receiver;
    this.chaos = chaos;
    this.random = seeded(options.seed + 1);
    this.client = tableClient(cloud);
  }

  async run(): Promise<SoakReport> {
    const { log, settle_ms } = this.options;
    const { tenant_id, api } = await newApplication(this.cloud);
    const apis = [api];
    while (apis.length < this.options.writers) apis.push((await newApplication(this.cloud, { tenant_id })).api);
    await this.openEndpoints(api);
    await Promise.all(apis.map((each) => this.write(each, Date.now())));
    log(`  ${this.confirmed.length} events are written; waiting for their deliveries`);
    if (this.options.times_only) await eventually(() => this.isHealthyDone(), settle_ms);
    const items = await (this.options.times_only ? this.scan() : this.itemsAtRest(tenant_id));
    this.client.destroy();
    return this.report(tenant_id, items, this.deadLetters());
  }

  private async openEndpoints(api: ApiClient): Promise<void> {
    const { healthy, sick } = this.options;
    const paths = Array.from({ length: healthy }, (_, index) => `/healthy-${index + 1}`);
    this.receiver.answer = (call, reply) => {
      const { headers, body, atMs: at_ms, path } = call;
      const silent = path === "/silent";
      const status = path === "/failing" && this.random() < failureRate ? 500 : 200;
      this.calls.push({
        endpoint_id: this.endpoints.get(path) ?? "",
        event_id: String(headers["webhook-id"]),
        delivery_id: String(headers["x-service-delivery"]),
        attempt: Number(headers["x-service-attempt"]),
        body,
        at_ms,
        status: silent ? null : status,
      });
      if (!silent) reply.writeHead(status).end();
    };
    for (const path of [...paths, ...sick.map((name) => `/${name}`)]) {
      // Nothing listens on port 1 of this machine.
      const origin = path === "/dead" ? "http://127.0.0.1:1" : this.receiver.url;
      this.endpoints.set(path, (await register(api, origin + path)).id);
    }
  }

  /** Writes a share of the events at its pace: a client, its account, a deposit and its completion, and again. */
  private async write(api: ApiClient, startMs: number): Promise<void> {
    const { events, pace } = this.options;
    const next = async (method: string, path: string, body: unknown, type: string): Promise<string> => {
      await eventually(() => (this.written < (pace * (Date.now() - startMs)) / 1000 + 1 ? true : undefined), 600_000);
      this.written += 1;
      const resource_id = await this.insist(api, method, path, body);
      this.confirmed.push({ type, resource_id });
      this.purgeOnce();
      return resource_id;
    };
    while (this.written + 3 < events) {
      const client_id = await next("POST", "/clients", someClient(), "client.created");
      const account_id = await next("POST", "/accounts", { client_id }, "account.created");
      const deposit = { account_id, amount: "10.00" };
      const id = await next("POST", "/transactions/deposit", deposit, "transaction.created");
      await next("PATCH", `/transactions/${id}`, { status: "completed" }, "transaction.completed");
    }
  }

  /** Asks under one key until it is done, as an integrator does whose call met a function that died. */
  private async insist(api: ApiClient, method: string, path: string, body: unknown): Promise<string> {
    const headers = { "Idempotency-Key": randomUUID() };
    return eventually(async () => {
      const reply = await patiently(() => api.call<{ id: string }>(method, path, { body, headers }));
      if (reply.status < 300) return reply.body.id;
      if (reply.status >= 500 || reply.status === 409) return undefined;
      throw new Error(`${method} ${path} answered ${reply.status}: ${reply.text}`);
    }, 60_000);
  }

  /** Empties every queue in the middle of the run: what was in them is in the table too. */
  private purgeOnce(): void {
    if (this.chaos === undefined || this.purged || this.confirmed.length < this.options.events / 2) return;
    this.purged = true;
    for (const queue of queues) this.cloud.queues.purge(queue);
    this.options.log("  every queue was purged");
  }

  private scan(): Promise<RawItem[]> {
    return scanTable({ client: this.client, tableName: tableNameOf(this.cloud, "main") });
  }

  private isHealthyDone(): true | undefined {
    return this.latencies().length >= this.confirmed.length * this.options.healthy ? true : undefined;
  }

  /** The table, once nothing in it waits any more. An item that waits for ever is a finding of the oracles. */
  private async itemsAtRest(tenantId: string): Promise<RawItem[]> {
    let [fewest, sinceMs] = [Number.POSITIVE_INFINITY, Date.now()];
    for (;;) {
      // A scan is dear, so it looks now and then.
      await new Promise((resolve) => setTimeout(resolve, 1000));
      const items = await this.scan();
      const own = items.filter(({ pk }) => String(pk).startsWith(tenantId));
      const waiting = own.filter(isWaiting).length;
      if (waiting > 0) this.options.log(`  ${waiting} of ${own.length} items wait`);
      if (waiting < fewest) [fewest, sinceMs] = [waiting, Date.now()];
      if (waiting === 0 || Date.now() - sinceMs > this.options.settle_ms) return items;
    }
  }

  /** Deliveries of the messages in the dead-letter queue. */
  private deadLetters(): string[] {
    return this.cloud.queues
      .bodies(deadLetters)
      .map((body) => (JSON.parse(body) as { delivery_id: string }).delivery_id);
  }

  private report(tenant_id: string, items: readonly RawItem[], dead_letters: readonly string[]): SoakReport {
    const evidence: Evidence = {
      tenant_id,
      endpoint_ids: [...this.endpoints.values()],
      confirmed: this.confirmed,
      items,
      calls: this.calls,
      dead_letters,
      time_scale: this.options.time_scale,
    };
    const of = (type: string) => items.filter(({ et, pk }) => et === type && String(pk).startsWith(tenant_id));
    const deliveries: Record<string, number> = {};
    for (const { status } of of("DELIVERY")) deliveries[String(status)] = (deliveries[String(status)] ?? 0) + 1;
    return {
      faults: this.options.times_only ? [] : [...judgeRun(evidence), ...judgeItems(items)],
      events: of("EVENT").length,
      calls: this.calls.length,
      deliveries,
      crashed_claims: of("ATTEMPT").filter(({ error }) => error === "worker_crash").length,
      dead_letters: dead_letters.length,
      chaos: this.chaos?.counts(),
      healthy: quantiles(this.latencies()),
    };
  }

  /** How long the first call of each event took to each healthy endpoint. */
  private latencies(): number[] {
    const healthy = new Set([...this.endpoints].filter(([path]) => path.startsWith("/healthy")).map(([, id]) => id));
    const first = new Map<string, number>();
    for (const { endpoint_id, event_id, at_ms, body } of this.calls) {
      const pair = `${event_id} ${endpoint_id}`;
      if (!healthy.has(endpoint_id) || first.has(pair)) continue;
      const { created_at } = JSON.parse(body) as { created_at: string };
      first.set(pair, at_ms - Date.parse(created_at));
    }
    return [...first.values()];
  }
}

function isWaiting({ et, due_pk, status }: RawItem): boolean {
  if (et === "OUTBOX") return true;
  if (et === "EVENT") return due_pk !== undefined;
  return et === "DELIVERY" && (status === "pending" || status === "retrying");
}
