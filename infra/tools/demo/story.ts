import { setTimeout as pause } from "node:timers/promises";
import type { DemoStep } from "./picture.ts";

/** Answer of the API. */
export interface DemoReply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers are read by the names of their members, as an integrator does.
  readonly body: any;
}

/** A webhook as it arrived. */
export interface Arrival {
  readonly sequence: number;
  readonly type: string;
  readonly id: string;
  readonly signature: string;
}

/** Where the story runs, and what it needs of the world. */
export interface StoryHost {
  readonly call: (method: string, path: string, body?: object) => Promise<DemoReply>;
  readonly say: (text: string) => void;
  /** Address of the receiver of webhooks. */
  readonly receiverUrl: string;
  /** Told the secret of the endpoint, so that what arrives is verified. */
  readonly expectSecret: (secret: string) => void;
  /** Webhooks that arrived so far, in the order in which they did. */
  readonly arrivals: readonly Arrival[];
  /** Events that the stream sent so far, in the order of their numbers. */
  readonly streamed: readonly Streamed[];
}

/** An event as the stream sent it. */
export interface Streamed {
  readonly sequence: number;
  readonly type: string;
  readonly id: string;
}

const symbol = "EURUSD";
const waitMs = 30_000;
const betweenLooksMs = 25;

/** The story of one account, step by step, and its moments. */
class Story {
  readonly moments: DemoStep[] = [];
  private readonly stage: StoryHost;
  private told = 0;
  private accountId = "";

  constructor(stage: StoryHost) {
    this.stage = stage;
  }

  /** A chapter of the story, in a sentence. */
  chapter(text: string): void {
    this.stage.say(`\n## ${text}`);
  }

  async request(method: string, path: string, body?: object): Promise<DemoReply["body"]> {
    const { call, say } = this.stage;
    say(`\n→ ${method} /v2${path}${body === undefined ? "" : `\n  ${JSON.stringify(body)}`}`);
    const reply = await call(method, path, body);
    say(`← ${reply.status}\n  ${JSON.stringify(brief(reply.body))}`);
    if (reply.status >= 300) throw new Error(`${method} ${path} answered ${reply.status}.`);
    return reply.body;
  }

  /** Waits for these webhooks, which come in any order, and shows them by their numbers. */
  async webhooks(...kinds: readonly string[]): Promise<readonly string[]> {
    const { arrivals, say } = this.stage;
    const last = performance.now() + waitMs;
    while (arrivals.length < this.told + kinds.length) {
      if (performance.now() > last) throw new Error(`Of ${kinds.join(", ")} only some arrived.`);
      await pause(betweenLooksMs);
    }
    const news = arrivals.slice(this.told).toSorted((a, b) => a.sequence - b.sequence);
    this.told = arrivals.length;
    for (const { sequence, type, id, signature } of news) {
      say(`⇠ webhook ${sequence} ${type} ${id}, signature ${signature}`);
    }
    await this.streamed(news);
    const came = news.map(({ type }) => type);
    if (came.join() !== kinds.join()) throw new Error(`${kinds.join(", ")} was to come, and ${came.join(", ")} came.`);
    return came;
  }

  /** Waits for the same events on the stream, which sends them with the same numbers and ids. */
  private async streamed(news: readonly Arrival[]): Promise<void> {
    const { streamed, say } = this.stage;
    const last = performance.now() + waitMs;
    const sent = (arrival: Arrival) => streamed.find(({ id }) => id === arrival.id);
    while (!news.every(sent)) {
      if (performance.now() > last) throw new Error("The stream did not send what the webhooks did.");
      await pause(betweenLooksMs);
    }
    for (const arrival of news) {
      const { sequence, type, id } = sent(arrival) ?? arrival;
      if (sequence !== arrival.sequence || type !== arrival.type)
        throw new Error(`The stream numbers ${id} otherwise.`);
      say(`⇠ stream  ${sequence} ${type} ${id}`);
    }
  }

  /** Remembers what the account is like now. */
  async moment(step: string, price: string, events: readonly string[]): Promise<void> {
    const { body } = await this.stage.call("GET", `/accounts/${this.accountId}`);
    const { balance, equity, used_margin, margin_level, margin_status } = body;
    this.moments.push({ step, price, balance, equity, used_margin, margin_level, margin_status, events });
  }

  async begin(): Promise<void> {
    this.chapter("A brokerage registers its webhook endpoint");
    const { receiverUrl: url, expectSecret } = this.stage;
    const endpoint = { url, event_types: ["*", "margin.recovered"] };
    expectSecret((await this.request("POST", "/webhook_endpoints", endpoint)).secret);
  }

  async openAccount(): Promise<void> {
    this.chapter("A client comes, is verified, and gets an account");
    const person = { email: "ana@example.com", first_name: "Ana", last_name: "Silva" };
    const client = await this.request("POST", "/clients", person);
    await this.webhooks("client.created");
    await this.request("POST", `/sandbox/clients/${client.id}/verify`);
    await this.webhooks("client.verified");
    const terms = { client_id: client.id, type: "demo", currency: "USD", leverage: 100 };
    this.accountId = (await this.request("POST", "/accounts", terms)).id;
    await this.moment("account opened", "-", await this.webhooks("account.created"));
  }

  async deposit(): Promise<void> {
    this.chapter("1,000 dollars are announced, and arrive");
    const announced = { account_id: this.accountId, amount: "1000.00", method: "card" };
    const deposit = await this.request("POST", "/transactions/deposit", announced);
    const created = await this.webhooks("transaction.created");
    await this.request("POST", `/sandbox/transactions/${deposit.id}/settle`);
    const completed = await this.webhooks("transaction.completed");
    await this.moment("deposit completed", "-", [...created, ...completed]);
  }

  async trade(): Promise<void> {
    this.chapter("Half a lot is ordered below the market, and the market comes down to it");
    const { bid } = await this.request("GET", `/quotes/${symbol}`);
    const price = below(bid);
    const order = { account_id: this.accountId, symbol, side: "buy", type: "limit", lots: "0.50", price };
    await this.request("POST", "/sandbox/orders", order);
    await this.request("POST", "/sandbox/prices", { prices: [{ symbol, ask: price }] });
    await this.moment("order filled", price, await this.webhooks("trade.opened"));
  }

  async drive(step: string, level: string, ...kinds: readonly string[]): Promise<void> {
    this.chapter(`${step}: the price is set that makes the margin level ${level} %`);
    const driven = await this.request("POST", `/sandbox/accounts/${this.accountId}/drive`, {
      margin_level: level,
      symbol,
    });
    await this.moment(step, driven.price.bid, await this.webhooks(...kinds));
  }

  async end(): Promise<void> {
    this.chapter("What is left");
    await this.request("GET", `/accounts/${this.accountId}/balance`);
    await this.request("GET", `/accounts/${this.accountId}/trades`);
  }
}

/** A price 30 points below. */
function below(bid: string): string {
  const [whole = "0", fraction = ""] = bid.split(".");
  const points = BigInt(whole + fraction) - 30n;
  const text = String(points).padStart(fraction.length + 1, "0");
  return `${text.slice(0, -fraction.length)}.${text.slice(-fraction.length)}`;
}

/** An answer without what tells a reader little: links, metadata and members that are null. */
function brief(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(brief);
  if (typeof value !== "object" || value === null) return value;
  const told = Object.entries(value).filter(([name, member]) => {
    return member !== null && name !== "_links" && name !== "metadata" && name !== "secret";
  });
  return Object.fromEntries(told.map(([name, member]) => [name, brief(member)]));
}

/**
 * Tells the life of an account, from an empty brokerage to a stop-out, by HTTP alone.
 * @throws Error when an answer or a webhook is another than the story says
 */
export async function tellStory(stage: StoryHost): Promise<readonly DemoStep[]> {
  const story = new Story(stage);
  await story.begin();
  await story.openAccount();
  await story.deposit();
  await story.trade();
  await story.drive("a loss", "130.00");
  await story.drive("margin call", "80.00", "margin.call");
  await story.drive("deeper, no second call", "70.00");
  await story.drive("recovery", "160.00", "margin.recovered");
  await story.drive("second margin call", "80.00", "margin.call");
  await story.drive("stop-out", "40.00", "trade.closed", "stop.out", "margin.recovered");
  await story.end();
  return story.moments;
}
