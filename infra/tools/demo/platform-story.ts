import { setTimeout as pause } from "node:timers/promises";
import type { Bridge } from "../../bridge/bridge.ts";
import type { SimulatedVenue } from "../../bridge/simulated-venue.ts";
import { tableOf } from "./picture.ts";
import type { DemoReply } from "./story.ts";

/** Where the story of a platform runs. */
export interface PlatformStage {
  readonly call: (method: string, path: string, body?: object) => Promise<DemoReply>;
  readonly say: (text: string) => void;
  readonly source_id: string;
  readonly venue: SimulatedVenue;
  readonly bridge: Bridge;
}

/** The two books of the account after a step. */
export interface BookMoment {
  readonly step: string;
  /** Balance on the platform. */
  readonly platform: string;
  /** Balance at the service. */
  readonly service: string;
  /** Open positions at the service. */
  readonly positions: number;
  readonly drifts: number;
}

const login = "50012345";
const symbol = "EURUSD";
const limitMs = 30_000;
const betweenLooksMs = 50;

/** The story of an account of a platform, from a deposit by command to a drift. */
class PlatformStory {
  readonly moments: BookMoment[] = [];
  private readonly stage: PlatformStage;
  private account = "";

  constructor(stage: PlatformStage) {
    this.stage = stage;
  }

  private async request(method: string, path: string, body?: object): Promise<DemoReply["body"]> {
    const { call, say } = this.stage;
    say(`\n→ ${method} /v2${path}${body === undefined ? "" : `\n  ${JSON.stringify(body)}`}`);
    const reply = await call(method, path, body);
    if (reply.status >= 300) throw new Error(`${method} ${path} answered ${reply.status}.`);
    say(`← ${reply.status}`);
    return reply.body;
  }

  /** Looks until the answer is as awaited. */
  private async until(path: string, isThere: (body: DemoReply["body"]) => boolean): Promise<DemoReply["body"]> {
    const last = performance.now() + limitMs;
    for (;;) {
      const { body } = await this.stage.call("GET", path);
      if (isThere(body)) return body;
      if (performance.now() > last) throw new Error(`What was awaited of GET ${path} did not come.`);
      await pause(betweenLooksMs);
    }
  }

  private async moment(step: string): Promise<void> {
    const { call, venue } = this.stage;
    const platform = venue.accounts().find(({ platform_login }) => platform_login === login)?.balance ?? "0.00";
    const { body: account } = await call("GET", `/accounts/${this.account}/balance`);
    const { body: positions } = await call("GET", `/accounts/${this.account}/positions`);
    const { body: drift } = await call("GET", "/drift");
    const drifts = (drift?.data ?? []).length;
    this.moments.push({ step, platform, service: account.balance, positions: positions.data.length, drifts });
  }

  async open(): Promise<void> {
    this.stage.say("\n## An account is linked to the platform of the bridge");
    const person = { email: "platform@example.com", first_name: "Ana", last_name: "Silva" };
    const client = await this.request("POST", "/clients", person);
    const link = { source_id: this.stage.source_id, platform: "mt5", platform_login: login };
    const terms = { client_id: client.id, type: "demo", leverage: 100, ...link };
    this.account = (await this.request("POST", "/accounts", terms)).id;
    await this.moment("account linked");
  }

  async deposit(): Promise<void> {
    this.stage.say("\n## A deposit is completed: the platform moves the money, by a command that the bridge takes");
    const body = { account_id: this.account, amount: "1000.00", status: "completed" };
    const { id, status, command_id } = await this.request("POST", "/transactions/deposit", body);
    this.stage.say(`  The deposit is ${status}, and its command is ${command_id}.`);
    await this.until(`/transactions/${id}`, (transaction) => transaction.status === "completed");
    await this.moment("deposit by command");
  }

  async trade(): Promise<void> {
    this.stage.say("\n## The client trades on the platform, and the bridge reports the deals");
    const fill = await this.stage.venue.trade(login, "buy", symbol, "0.10");
    this.stage.say(`  Deal ${fill.deal_id}: bought 0.10 ${symbol} at ${fill.price}.`);
    const positions = `/accounts/${this.account}/positions`;
    await this.until(positions, ({ data }) => data.length === 1);
    await this.moment("position opened");
    const closed = await this.stage.venue.closePosition(login, String(fill.position_id));
    this.stage.say(`  Deal ${closed.deal_id}: sold at ${closed.price}, profit ${closed.profit}.`);
    await this.until(positions, ({ data }) => data.length === 0);
    await this.moment("position closed");
  }

  async drift(): Promise<void> {
    this.stage.say("\n## The platform changes the balance and reports no operation; the next snapshot shows it");
    await this.stage.venue.adjustSilently(login, "5.00");
    if (!(await this.stage.bridge.snapshot())) return this.stage.say("  The service takes no snapshots yet.");
    await this.until("/drift", ({ data }) => data.length > 0);
    return this.moment("drift found");
  }
}

/** Tells the story; returns the two books after each step. */
export async function tellPlatformStory(stage: PlatformStage): Promise<readonly BookMoment[]> {
  const story = new PlatformStory(stage);
  await story.open();
  await story.deposit();
  await story.trade();
  await story.drift();
  return story.moments;
}

/** The two books as a table. */
export function booksTable(moments: readonly BookMoment[]): string[] {
  const rows = moments.map(({ step, platform, service, positions, drifts }) => {
    return [step, platform, service, String(positions), String(drifts)];
  });
  return tableOf(["step", "platform", "service", "positions", "drifts"], rows);
}
