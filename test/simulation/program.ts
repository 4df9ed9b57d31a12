import { DeleteTableCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import type { DynamoDBStreamEvent } from "aws-lambda";
import fc from "fast-check";
import { draftTenant } from "../../shared/domain/tenant.ts";
import type { TestAnswer, TestApi } from "../support/api.ts";
import { type Emulator, startEmulator } from "../support/emulator.ts";
import { findings } from "../support/oracle.ts";
import { readStream } from "../support/raw-table.ts";
import { newCaller, type TestCaller } from "../support/request.ts";
import {
  type Answered,
  amountText,
  type Books,
  type Call,
  emptyBooks,
  enter,
  type Intent,
  shownAccount,
} from "./model.ts";

/** One command of a program. Numbers choose among what there is when its turn comes, so any part of a program runs. */
export interface Command {
  /** Which of the three brokerages acts. */
  readonly tenant: number;
  /** Which of its two applications. */
  readonly application: number;
  /** What it acts on, counted from the newest. */
  readonly target: number;
  /** It names what belongs to the next brokerage. */
  readonly foreign: boolean;
  /** It is sent under a key, sometimes twice at once. */
  readonly keyed: "no" | "once" | "twice";
  readonly act: Act;
}

/** What a command does; the intents of the model without their identifiers. */
export type Act =
  | { readonly do: "create_client"; readonly email: number; readonly external_id: number | null }
  | Without<"client_status", "client">
  | Without<"verification", "client">
  | Without<"open_account", "client">
  | Without<"account_status", "account">
  | Without<"trading_mode", "account">
  | (Omit<Extract<Intent, { do: "book" }>, "account" | "external_id"> & { readonly external_id: number | null })
  | (Omit<Extract<Intent, { do: "move" }>, "transaction" | "if_version"> & { readonly if_version: number | null })
  | Without<"settings", never>
  | { readonly do: "replay"; readonly nth: number; readonly altered: boolean }
  | { readonly do: "read"; readonly list: number };

type Without<D extends Intent["do"], K extends string> = Omit<Extract<Intent, { do: D }>, K>;

/** Commands of one step are sent at once. */
export type Step = readonly Command[];

/** A program: its steps one after the other. */
export type Program = readonly Step[];

const lists = [
  "/clients?limit=100",
  "/accounts?limit=100",
  "/transactions?limit=100",
  "/transactions?status=pending,approved,processing&limit=100",
  "/events?limit=100",
  "/settings",
  "/clients?sort=created_at&limit=2",
] as const;

/** A value one time in so many, else null. */
function sometimes<T>(times: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: times - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
}

const amounts = fc.bigInt(1n, 40_000n);

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("create_client" as const),
      email: fc.nat(5),
      external_id: sometimes(3, fc.nat(3)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("client_status" as const),
      to: fc.constantFrom("active" as const, "active" as const, "suspended" as const, "closed" as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("verification" as const),
      to: fc.constantFrom("verified" as const, "pending" as const, "rejected" as const, "unverified" as const),
      details: fc.boolean(),
      reasons: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("open_account" as const),
      type: fc.constantFrom("live" as const, "demo" as const),
      currency: fc.constantFrom("USD" as const, "JPY" as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("account_status" as const),
      to: fc.constantFrom("active" as const, "active" as const, "disabled" as const, "closed" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("trading_mode" as const),
      to: fc.constantFrom("full" as const, "full" as const, "close_only" as const, "none" as const),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant("book" as const),
      kind: fc.constantFrom("deposit" as const, "withdrawal" as const),
      amount: amounts,
      fee: fc.oneof({ weight: 3, arbitrary: fc.constant(0n) }, { weight: 1, arbitrary: fc.bigInt(0n, 500n) }),
      completed: fc.oneof({ weight: 2, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
      external_id: sometimes(5, fc.nat(4)),
      imprecise: fc.nat(19).map((each) => each === 19),
    }),
  },
  {
    weight: 18,
    arbitrary: fc.record({
      do: fc.constant("move" as const),
      to: fc.constantFrom(
        ...(["approved", "processing", "completed", "completed", "returned", "returned"] as const),
        ...(["approved", "processing", "failed", "failed"] as const),
        ...(["rejected", "cancelled", "pending"] as const),
      ),
      reason: fc.nat(9).map((each) => each < 9),
      force: fc.boolean(),
      keep_fee: fc.boolean(),
      if_version: sometimes(4, fc.nat(3)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("settings" as const),
      four_eyes: fc.boolean(),
      require: fc.constantFrom("none" as const, "none" as const, "withdrawal" as const, "live_account" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("replay" as const),
      nth: fc.nat(20),
      altered: fc.nat(3).map((each) => each === 3),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("read" as const), list: fc.nat(lists.length - 1) }) },
);

const command: fc.Arbitrary<Command> = fc.record({
  tenant: fc.constantFrom(0, 0, 0, 0, 1, 1, 2),
  application: fc.constantFrom(0, 0, 1),
  target: fc.nat(3),
  foreign: fc.nat(24).map((each) => each === 24),
  keyed: fc.constantFrom("no" as const, "once" as const, "once" as const, "twice" as const),
  act,
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(command) },
  { weight: 1, arbitrary: fc.array(command, { minLength: 2, maxLength: 3 }) },
);

/** Programs of up to 20 steps. */
export const programs: fc.Arbitrary<Program> = fc.array(step, { minLength: 4, maxLength: 20, size: "max" });

interface Tenant {
  readonly callers: readonly TestCaller[];
  readonly canary: string;
  books: Books;
  /** Calls that were sent under a key. */
  readonly keyed: Sent[];
}

interface Sent extends Call {
  readonly tenant: Tenant;
  readonly method: string;
  readonly address: string;
  readonly body: string | undefined;
  readonly if_match: string | undefined;
}

/** A program found something that must not be. */
class Broken extends Error {}

/**
 * Runs a program against the handlers on tables of its own: each answer and each account is compared with the model,
 * and at the end the raw tables are judged, before the events are published and after. `seen` counts what was answered.
 */
export async function runProgram(api: TestApi, program: Program, seen = new Map<string, number>()): Promise<void> {
  const tables = await moreTables(api);
  Object.assign(process.env, { TABLE_NAME: tables.tableName, VOLATILE_TABLE_NAME: tables.volatileTableName });
  try {
    const run = new Run(api, tables, seen);
    await run.open();
    for (const each of program) await run.step(each);
    await run.close();
  } finally {
    for (const TableName of [tables.tableName, tables.volatileTableName]) {
      await tables.client.send(new DeleteTableCommand({ TableName }));
    }
    await tables.stop();
  }
}

/** Two more tables on the emulator that runs already. */
async function moreTables(api: TestApi): Promise<Emulator> {
  const before = process.env["DYNAMODB_ENDPOINT"];
  process.env["DYNAMODB_ENDPOINT"] = api.emulator.endpoint;
  try {
    return await startEmulator();
  } finally {
    if (before === undefined) delete process.env["DYNAMODB_ENDPOINT"];
    else process.env["DYNAMODB_ENDPOINT"] = before;
  }
}

class Run {
  private readonly api: TestApi;
  private readonly tables: Emulator;
  private readonly tenants: readonly Tenant[];
  private readonly seen: Map<string, number>;
  private made = 0;

  constructor(api: TestApi, tables: Emulator, seen: Map<string, number>) {
    this.seen = seen;
    this.api = api;
    this.tables = tables;
    this.tenants = [0, 1, 2].map(() => {
      const first = newCaller();
      const canary = `canary-${first.tenant_id.slice(-20)}`;
      const callers = [first, newCaller({ tenant_id: first.tenant_id })];
      return { callers, canary, books: emptyBooks(), keyed: [] };
    });
  }

  /** The brokerages, and in each a client with an account that holds something. */
  async open(): Promise<void> {
    for (const { callers } of this.tenants) {
      const id = callers[0]?.tenant_id ?? "";
      const tenant = { pk: id, sk: "TENANT", et: "TENANT", ...draftTenant(id, new Date(0).toISOString()) };
      await this.tables.client.send(new PutItemCommand({ TableName: this.tables.tableName, Item: marshall(tenant) }));
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
    const { handler: publish } = await import("../../functions/events/publish.ts");
    for (let start = 0; start < records.length; start += 25) {
      const batch = { Records: records.slice(start, start + 25) } as unknown as DynamoDBStreamEvent;
      const { batchItemFailures } = await publish(batch);
      if (batchItemFailures.length > 0) throw new Broken("Events were not published.");
    }
    await this.judge("after the events were published");
    for (const tenant of this.tenants) await this.ask(tenant, "GET", "/events?limit=100");
  }

  private async judge(when: string): Promise<void> {
    const found = await findings(this.tables);
    if (found.length > 0) throw new Broken([`The oracle found, ${when}:`, ...found].join("\n"));
  }

  private async send(call: Sent): Promise<Answered> {
    const answer = await this.ask(call.tenant, call.method, call.address, {
      application: call.application,
      ...(call.body === undefined ? {} : { body: call.body }),
      headers: {
        ...(call.key === undefined ? {} : { "Idempotency-Key": call.key }),
        ...(call.if_match === undefined ? {} : { "If-Match": call.if_match }),
      },
    });
    const replayed = answer.headers["Idempotent-Replayed"] === "true";
    const told = `${wordsOf(call.intent)}: ${replayed ? "replayed" : (answer.body.code ?? answer.status)}`;
    this.seen.set(told, (this.seen.get(told) ?? 0) + 1);
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

function wordsOf(intent: Intent): string {
  if (intent.do === "book") return `${intent.kind}${intent.completed ? " completed" : ""}`;
  return "to" in intent ? `${intent.do} ${intent.to}` : intent.do;
}

interface Exchanged {
  readonly call: Sent;
  readonly answer: Answered;
}

/** Enters the calls in this order. Who came together with others may have been told to try again, without effect. */
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

/** An earlier call once more, under its key; altered by a space that changes nothing but its bytes. */
function again(tenant: Tenant, { nth, altered }: Extract<Act, { do: "replay" }>): Sent[] {
  const call = newest(tenant.keyed, nth);
  if (call === undefined) return [];
  if (!altered || call.body === undefined) return [call];
  const body = `${call.body} `;
  return [{ ...call, body, request: JSON.stringify([call.method, call.address, body]) }];
}

function newest<T>(all: readonly T[], nth: number): T | undefined {
  return all.length === 0 ? undefined : all.at(-1 - (nth % all.length));
}

const nobody = "01JD0000000000000000000000";

function intentOf(given: Act, target: number, { clients, accounts, transactions }: Books, tenant: Tenant): Intent {
  const idOf = (all: ReadonlyMap<string, unknown>, prefix: string) =>
    newest([...all.keys()], target) ?? `${prefix}_${nobody}`;
  const client = idOf(clients, "cli");
  switch (given.do) {
    case "create_client": {
      const external_id = given.external_id === null ? null : `client ${given.external_id}`;
      return { ...given, email: `client-${given.email}@example.com`, external_id };
    }
    case "client_status":
    case "verification":
    case "open_account":
      return { ...given, client };
    case "account_status":
    case "trading_mode":
      return { ...given, account: idOf(accounts, "acc") };
    case "book": {
      const external_id = given.external_id === null ? null : `money ${given.external_id}`;
      return { ...given, account: idOf(accounts, "acc"), external_id };
    }
    case "move": {
      const transaction = idOf(transactions, "txn");
      const now = tenant.books.transactions.get(transaction)?.version ?? 1;
      // Mostly the version that it has, sometimes the one before or after.
      const if_version = given.if_version === null ? undefined : now + ([0, 0, -1, 1][given.if_version % 4] ?? 0);
      return { ...given, transaction, if_version };
    }
    default:
      return given as Intent;
  }
}

function requestOf(
  intent: Intent,
  books: Books,
  canary: string,
): Pick<Sent, "method" | "address" | "body" | "if_match"> {
  const patch = (address: string, body: object, if_match?: string) => ({
    method: "PATCH",
    address,
    body: JSON.stringify(body),
    if_match,
  });
  const post = (address: string, body: object) => ({
    method: "POST",
    address,
    body: JSON.stringify({ ...body, metadata: { note: canary } }),
    if_match: undefined,
  });
  switch (intent.do) {
    case "create_client": {
      const { email, external_id } = intent;
      return post("/clients", { email, external_id, first_name: canary, last_name: "Silva" });
    }
    case "client_status":
      return patch(`/clients/${intent.client}`, { status: intent.to });
    case "verification":
      return patch(`/clients/${intent.client}`, {
        verification_status: intent.to,
        ...(intent.details ? { date_of_birth: "1990-12-31", country: "PT" } : {}),
        ...(intent.to === "rejected" && intent.reasons ? { verification: { rejection_reasons: ["pep"] } } : {}),
      });
    case "open_account":
      return post("/accounts", { client_id: intent.client, type: intent.type, currency: intent.currency });
    case "account_status":
      return intent.to === "disabled"
        ? { method: "DELETE", address: `/accounts/${intent.account}`, body: undefined, if_match: undefined }
        : patch(`/accounts/${intent.account}`, { status: intent.to });
    case "trading_mode":
      return patch(`/accounts/${intent.account}`, { trading_mode: intent.to });
    case "book": {
      const currency = books.accounts.get(intent.account)?.currency ?? "USD";
      const fraction = currency === "USD" ? "1" : ".1";
      return post(`/transactions/${intent.kind}`, {
        account_id: intent.account,
        amount: amountText(intent.amount, currency) + (intent.imprecise ? fraction : ""),
        fee: amountText(intent.fee, currency),
        ...(intent.completed ? { status: "completed" } : {}),
        ...(intent.external_id === null ? {} : { external_id: intent.external_id }),
      });
    }
    case "move": {
      const { to, reason, force, keep_fee, if_version } = intent;
      return patch(
        `/transactions/${intent.transaction}`,
        {
          status: to,
          ...(reason ? { reason: { code: "by_test" } } : {}),
          ...(force ? { force } : {}),
          ...(keep_fee ? { keep_fee } : {}),
        },
        if_version === undefined ? undefined : `"${if_version}"`,
      );
    }
    case "settings":
      return patch("/settings", { four_eyes: intent.four_eyes, require_verified_client: intent.require });
  }
}
