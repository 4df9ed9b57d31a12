import type { Cloud } from "../../../infra/local/cloud.ts";
import type { Credentials } from "../../../infra/tools/api-call.ts";
import type { ApiClient } from "../../support/stack/api-client.ts";
import { fundedAccount } from "../../support/stack/api-client.ts";
import { newApplication } from "../../support/stack/application.ts";
import type { Receiver } from "../../support/stack/receiver.ts";
import { register } from "../../support/stack/webhooks.ts";
import { type Answered, type EventCounts, isEarned } from "./figures.ts";
import { draw, endpointAt, type Known, kindsOfMix, remember } from "./requests.ts";

/** How requests follow each other: at their times whatever becomes of those before, or one after the other. */
export type Loop = "open" | "closed";

/** A stretch of load. */
export interface Stretch {
  readonly loop: Loop;
  readonly seconds: number;
  /** Requests a second of each application. */
  readonly rate: number;
}

/** A brokerage under load, with a webhook endpoint that gets all of its events. */
export class Brokerage {
  readonly tenant_id: string;
  /** Answers that are no success, an earned 429 left out, and requests that got none. */
  readonly errors: string[] = [];
  earned = 0;
  private readonly baseUrl: string;
  private readonly api: ApiClient;
  private readonly random: () => number;
  private readonly known: Known;
  private readonly written: string[] = [];
  private readonly received: ReadonlySet<string>;
  private sentMs: number[] = [];

  constructor(
    cloud: Pick<Cloud, "baseUrl">,
    own: { api: ApiClient; tenant_id: string; credentials: Credentials; funded: string },
    random: () => number,
    received: ReadonlySet<string>,
  ) {
    this.baseUrl = cloud.baseUrl;
    this.api = own.api;
    this.tenant_id = own.tenant_id;
    this.random = random;
    this.received = received;
    const { credentials, funded } = own;
    this.known = { clients: [], accounts: [], transactions: [], events: [], pending: [], funded, credentials };
  }

  /** Makes one with an account that the first requests are about. */
  static async open(cloud: Cloud, receiver: Receiver, inbox: Inbox, random: () => number): Promise<Brokerage> {
    const own = await newApplication(cloud);
    const path = `/${own.tenant_id}`;
    const received = inbox.open(path);
    await register(own.api, receiver.url + path, { event_types: kindsOfMix() });
    const { client_id, account_id } = await fundedAccount(own.api, "1000.00");
    const brokerage = new Brokerage(cloud, { ...own, funded: account_id }, random, received);
    brokerage.known.clients.push(client_id);
    brokerage.known.accounts.push(account_id);
    brokerage.written.push(`client.created ${client_id}`, `account.created ${account_id}`);
    await brokerage.send("create_deposit", Date.now());
    return brokerage;
  }

  /** Sends requests of the mix for so long; `told` learns of each answer. */
  async load({ loop, seconds, rate }: Stretch, told: (answered: Answered) => void): Promise<void> {
    const startMs = Date.now();
    const endMs = startMs + seconds * 1000;
    const begun: Promise<void>[] = [];
    for (let turn = 0; ; turn += 1) {
      const dueMs = startMs + ((turn + this.random()) * 1000) / rate;
      if (dueMs >= endMs) break;
      await new Promise((resolve) => setTimeout(resolve, dueMs - Date.now()));
      const endpoint = endpointAt(this.random());
      const one = this.send(endpoint, loop === "open" ? dueMs : Date.now()).then(told, (error: Error) => {
        // An error of fetch has the reason as its cause.
        this.errors.push(`${endpoint} was not answered: ${error.cause ?? error}`);
      });
      if (loop === "open") begun.push(one);
      else await one;
    }
    await Promise.all(begun);
  }

  /** Writes, the events that the API lists by now, so many to a page, and those that the receiver got. */
  async counts(limit = 100): Promise<EventCounts> {
    const published = new Map<string, string>();
    let path: string | undefined = `/events?limit=${limit}`;
    while (path !== undefined) {
      const { body }: { body: EventPage } = await this.api.call<EventPage>("GET", path);
      // A day that was sealed meanwhile is no consequence of the load, and goes only to endpoints that ask for it.
      const caused = body.data.filter(({ type }) => type !== "audit.sealed");
      for (const { id, type, resource } of caused) published.set(id, `${type} ${resource.id}`);
      const next: EventPage["_links"]["next"] = body._links.next;
      path = next && `/events${new URL(next.href).search}`;
    }
    return { written: this.written, published, received: this.received };
  }

  private async send(endpoint: string, dueMs: number): Promise<Answered> {
    const { route, path, body, form, emits } = draw(endpoint, this.known, this.random);
    const sentMs = Date.now();
    this.sentMs = [...this.sentMs.filter((at) => at > sentMs - 60_000), sentMs];
    const reply = await fetch(this.baseUrl + path, {
      method: route.method,
      headers: {
        ...(form === undefined ? { Authorization: `Bearer ${this.api.token}` } : {}),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      ...(form === undefined ? {} : { body: form }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    const answered = { route: route.id, status: reply.status, ms: Date.now() - dueMs };
    if (reply.status >= 400) this.failed(answered, sentMs, text);
    else if (emits !== undefined) {
      const { id } = JSON.parse(text) as { id: string };
      this.written.push(`${emits} ${id}`);
      remember(this.known, route.id, id);
    } else if (route.id === "list_events") {
      for (const { id } of (JSON.parse(text) as EventPage).data) remember(this.known, route.id, id);
    }
    return answered;
  }

  private failed({ route, status }: Answered, sentMs: number, text: string): void {
    if (status === 429 && isEarned(this.sentMs, sentMs)) this.earned += 1;
    else this.errors.push(`${route} ${status} ${text}`);
  }
}

interface EventPage {
  readonly data: readonly { readonly id: string; readonly type: string; readonly resource: { readonly id: string } }[];
  readonly _links: { readonly next?: { readonly href: string } };
}

/** Receipts of a receiver: identifiers of events by path, and how long each took from its commit. */
export class Inbox {
  /** Milliseconds from the commit to the first receipt. */
  readonly latencies: number[] = [];
  private readonly ids = new Map<string, Set<string>>();

  constructor(receiver: Receiver) {
    receiver.answer = ({ path, body, atMs }, reply) => {
      // The runner's memory is measured, which this process is.
      receiver.received.splice(0);
      const { id, created_at } = JSON.parse(body) as { id: string; created_at: string };
      const ids = this.ids.get(path);
      if (ids !== undefined && !ids.has(id)) this.latencies.push(atMs - Date.parse(created_at));
      ids?.add(id);
      reply.end();
    };
  }

  open(path: string): Set<string> {
    const ids = new Set<string>();
    this.ids.set(path, ids);
    return ids;
  }
}
