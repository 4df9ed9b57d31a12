import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { draftTenant } from "../../shared/domain/access/tenant.ts";
import { putApplication, type TestAnswer, type TestApi } from "../support/emulator/api.ts";
import { type Emulator, startEmulator } from "../support/emulator/emulator.ts";
import { readStream, scanTable } from "../support/emulator/raw-table.ts";
import { newCaller } from "../support/emulator/request.ts";
import { auditsIn } from "../support/oracles/audit-oracle.ts";
import { findings } from "../support/oracles/oracle.ts";
import { type AskedCommand, askedBy, auditFaults } from "./audit/commands.ts";
import { enter } from "./model.ts";
import { type Answered, type Books, emptyBooks, type Intent, shownAccount } from "./model-books.ts";
import { type Act, type Command, lists, type Program, type Sent, type Step, type Tenant } from "./program-acts.ts";
import { again, intentOf, requestOf } from "./program-requests.ts";

/** One command in so many is also sent by an application that may not. */
const refusedEvery = 4;

/** A program found something that must not be. */
class Broken extends Error {}

/**
 * Runs a program against the handlers on tables of its own: each answer and each account is compared with the model,
 * and at the end the raw tables are judged, before the events are published and after. `seen` counts what was answered.
 */
export async function runProgram(api: TestApi, program: Program, seen = new Map<string, number>()): Promise<void> {
  const tables = await startEmulator();
  Object.assign(process.env, {
    TABLE_NAME: tables.tableName,
    VOLATILE_TABLE_NAME: tables.volatileTableName,
    KEY_TABLE_NAME: tables.keyTableName,
  });
  try {
    const run = new Run(api, tables, seen);
    api.queues.takeFrom("refusals");
    await run.open();
    for (const each of program) await run.step(each);
    await run.close();
  } finally {
    await tables.stop();
  }
}

class Run {
  private readonly api: TestApi;
  private readonly tables: Emulator;
  private readonly tenants: readonly Tenant[];
  private readonly seen: Map<string, number>;
  private readonly asked: AskedCommand[] = [];
  private made = 0;

  constructor(api: TestApi, tables: Emulator, seen: Map<string, number>) {
    this.seen = seen;
    this.api = api;
    this.tables = tables;
    this.tenants = [0, 1, 2].map(() => {
      const first = newCaller();
      const canary = `canary-${first.tenant_id.slice(-20)}`;
      const { tenant_id } = first;
      const callers = [first, newCaller({ tenant_id }), newCaller({ tenant_id, scopes: [] })];
      return { callers, canary, books: emptyBooks(), keyed: [] };
    });
  }

  /** The brokerages, and in each a client with an account that holds something. */
  async open(): Promise<void> {
    for (const { callers } of this.tenants) {
      const id = callers[0]?.tenant_id ?? "";
      const tenant = { pk: id, sk: "TENANT", et: "TENANT", ...draftTenant(id, new Date(0).toISOString()) };
      await this.tables.client.send(new PutItemCommand({ TableName: this.tables.tableName, Item: marshall(tenant) }));
      await Promise.all(callers.map((caller) => putApplication(this.tables, caller)));
    }
    const common = { application: 0, target: 0, foreign: false, keyed: "no" } as const;
    const money = { kind: "deposit", amount: 50_000n, fee: 0n, completed: true, imprecise: false } as const;
    const acts: readonly Act[] = [
      { do: "create_client", email: 9, external_id: null },
      { do: "open_account", type: "live", currency: "USD" },
      { do: "book", ...money, external_id: null },
    ];
    for (const each of acts) await this.step([0, 1, 2].map((tenant) => ({ ...common, tenant, act: each })));
  }

  async step(commands: Step): Promise<void> {
    const reads = commands.filter(({ act: { do: what } }) => what === "read");
    const calls = commands.flatMap((each) => this.resolve(each));
    const [answers] = await Promise.all([
      Promise.all(calls.map((each) => this.send(each))),
      Promise.all(reads.map((each) => this.read(each))),
    ]);
    for (const tenant of this.tenants) {
      const own = calls.flatMap((call, index) => {
        const answer = answers[index];
        return call.tenant === tenant && answer !== undefined ? [{ call, answer }] : [];
      });
      if (own.length > 0) await this.settle(tenant, own);
    }
  }

  /** Finds an order of the calls in which every answer, and what is then so, is what the model says. */
  private async settle(tenant: Tenant, sent: readonly Exchanged[]): Promise<void> {
    const touched = new Map<string, TestAnswer>();
    for (const { call } of sent) {
      const account = accountOf(tenant.books, call.intent);
      if (account !== undefined && !touched.has(account)) {
        touched.set(account, await this.ask(tenant, "GET", `/accounts/${account}`));
      }
    }
    const reasons: string[] = [];
    for (const order of ordersOf(sent)) {
      const books = structuredClone(tenant.books);
      const wrong = replay(books, order, sent.length > 1) ?? differences(books, touched)[0];
      if (wrong === undefined) {
        tenant.books = books;
        return;
      }
      reasons.push(wrong);
    }
    const answers = sent.map(({ answer }) => `${answer.status} ${answer.text}`);
    throw new Broken([...new Set(reasons), ...answers].join("\n"));
  }

  /** Every account and transaction is what the model says, and the oracle finds nothing. */
  async close(): Promise<void> {
    for (const tenant of this.tenants) {
      const accounts = new Map<string, TestAnswer>();
      for (const id of tenant.books.accounts.keys()) accounts.set(id, await this.ask(tenant, "GET", `/accounts/${id}`));
      const wrong = differences(tenant.books, accounts);
      if (wrong.length > 0) throw new Broken(wrong.join("\n"));
    }
    await this.judge("before the events are published");
    const records = (await readStream(this.tables)).filter(
      ({ eventName, dynamodb }) => eventName !== "REMOVE" && dynamodb.NewImage?.["et"]?.S === "OUTBOX",
    );
    const { publishDirectly } = await import("../support/emulator/publishing.ts");
    if ((await publishDirectly(records)) > 0) throw new Broken("Events were not published.");
    await this.judge("after the events were published");
    const caused = new Set<string>();
    for (const tenant of this.tenants) for (const id of await this.causes(tenant)) caused.add(id);
    const refused = this.api.queues.takeFrom("refusals").map(({ body }) => String(Object(body)["request_id"]));
    const entries = auditsIn(await scanTable(this.tables));
    const faults = auditFaults(this.asked, { entries, caused, refused });
    if (faults.length > 0) throw new Broken(faults.join("\n"));
  }

  /** The requests that the events of a brokerage were caused by. */
  private async causes(tenant: Tenant): Promise<string[]> {
    const found: string[] = [];
    let path: string | undefined = "/events?limit=100";
    while (path !== undefined) {
      const { body } = await this.ask(tenant, "GET", path);
      found.push(...body.data.map(({ request_id }: { request_id: string }) => request_id));
      path = body._links.next?.href.replace(/^.*\/v2/, "");
    }
    return found;
  }

  private async judge(when: string): Promise<void> {
    const found = await findings(this.tables);
    if (found.length > 0) throw new Broken([`The oracle found, ${when}:`, ...found].join("\n"));
  }

  /** First sends every few commands by an application without any scope, to which everything is refused. */
  private async sendWithoutScope({ tenant, method, address, body, intent }: Sent): Promise<void> {
    const parts = { application: 2, ...(body === undefined ? {} : { body }) };
    const answer = await this.ask(tenant, method, address, parts);
    this.asked.push(askedBy(intent.do, tenant.callers[2]?.tenant_id ?? "", answer));
    if (answer.body.code !== "insufficient_scope") throw new Broken(`Without a scope: ${answer.status} ${answer.text}`);
  }

  private async send(call: Sent): Promise<Answered> {
    if (this.asked.length % refusedEvery === 0) await this.sendWithoutScope(call);
    const answer = await this.ask(call.tenant, call.method, call.address, {
      application: call.application,
      ...(call.body === undefined ? {} : { body: call.body }),
      headers: {
        ...(call.key === undefined ? {} : { "Idempotency-Key": call.key }),
        ...(call.if_match === undefined ? {} : { "If-Match": call.if_match }),
      },
    });
    const replayed = answer.headers["Idempotent-Replayed"] === "true";
    const told = `${describeIntent(call.intent)}: ${replayed ? "replayed" : (answer.body.code ?? answer.status)}`;
    this.seen.set(told, (this.seen.get(told) ?? 0) + 1);
    this.asked.push(askedBy(call.intent.do, call.tenant.callers[0]?.tenant_id ?? "", answer));
    return { status: answer.status, text: answer.text, replayed };
  }

  /** A call, whose answer must hold nothing of another brokerage. */
  private async ask(
    tenant: Tenant,
    method: string,
    address: string,
    parts: { application?: number; body?: string; headers?: Record<string, string> } = {},
  ): Promise<TestAnswer> {
    const { application = 0, ...rest } = parts;
    const answer = await this.api.call(tenant.callers[application], method, address, rest);
    const shown = JSON.stringify(answer.headers) + answer.text;
    for (const other of this.tenants) {
      const marks = [other.canary, other.callers[0]?.tenant_id ?? ""];
      if (other !== tenant && marks.some((mark) => shown.includes(mark))) {
        throw new Broken(`${method} ${address} showed ${other.canary} to ${tenant.canary}: ${shown}`);
      }
    }
    return answer;
  }

  private async read({ tenant: index, act: what }: Command): Promise<void> {
    const tenant = this.tenants[index];
    if (tenant === undefined || what.do !== "read") return;
    const address = lists[what.list] ?? "/settings";
    const answer = await this.ask(tenant, "GET", address);
    if (answer.status !== 200) throw new Broken(`GET ${address} answered ${answer.status} ${answer.text}`);
    if (/^\/(?:clients|accounts|transactions)\?limit/.test(address) && !answer.text.includes(tenant.canary)) {
      throw new Broken(`GET ${address} shows nothing of its own brokerage.`);
    }
  }

  private resolve(given: Command): Sent[] {
    const tenant = this.tenants[given.tenant];
    if (tenant === undefined || given.act.do === "read") return [];
    if (given.act.do === "replay") return again(tenant, given.act);
    const owner = (given.foreign ? this.tenants[(given.tenant + 1) % 3] : tenant) ?? tenant;
    const intent = intentOf(given.act, given.target, owner.books, tenant);
    const { application } = given;
    this.made += 1;
    const key = given.keyed === "no" ? undefined : `key-${this.made}`;
    const parts = requestOf(intent, owner.books, tenant.canary);
    const request = JSON.stringify([parts.method, parts.address, parts.body]);
    const sent: Sent = { tenant, application, intent, key, request, ...parts };
    if (key !== undefined) tenant.keyed.push(sent);
    return given.keyed === "twice" ? [sent, sent] : [sent];
  }
}

function describeIntent(intent: Intent): string {
  if (intent.do === "book") return `${intent.kind}${intent.completed ? " completed" : ""}`;
  return "to" in intent ? `${intent.do} ${intent.to}` : intent.do;
}

interface Exchanged {
  readonly call: Sent;
  readonly answer: Answered;
}

/** Enters the calls in this order. A call among concurrent ones may have been refused for a retry, without effect. */
function replay(books: Books, order: readonly Exchanged[], together: boolean): string | undefined {
  for (const { call, answer } of order) {
    if (together && answer.status === 503) continue;
    const wrong = enter(books, call, answer);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function differences(books: Books, shown: ReadonlyMap<string, TestAnswer>): string[] {
  return [...shown].flatMap(([id, { status, text }]) => {
    const account = books.accounts.get(id);
    if (account === undefined) return [`${id} is not known`];
    const wanted = shownAccount(account);
    const body = JSON.parse(text) as Record<string, unknown>;
    const found = Object.fromEntries(Object.keys(wanted).map((name) => [name, body[name]]));
    if (status === 200 && JSON.stringify(found) === JSON.stringify(wanted)) return [];
    return [`${id} was to be ${JSON.stringify(wanted)}, not ${JSON.stringify(found)}`];
  });
}

function* ordersOf<T>(items: readonly T[]): Generator<readonly T[]> {
  if (items.length < 2) yield items;
  else {
    for (const [index, first] of items.entries()) {
      for (const rest of ordersOf(items.toSpliced(index, 1))) yield [first, ...rest];
    }
  }
}

/** The own account that an intent is about. */
function accountOf(books: Books, intent: Intent): string | undefined {
  const id =
    intent.do === "move"
      ? books.transactions.get(intent.transaction)?.account_id
      : "account" in intent
        ? intent.account
        : undefined;
  return id !== undefined && books.accounts.has(id) ? id : undefined;
}
