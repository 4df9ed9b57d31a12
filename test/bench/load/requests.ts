import type { Credentials } from "../../../infra/tools/api-call.ts";
import { mix } from "../../../infra/tools/cost/mix.ts";
import { routes } from "../../../shared/routes/index.ts";
import type { Route } from "../../../shared/routes/route.ts";
import type { EventType } from "../../../shared/schema/event-types.ts";
import { someClient } from "../../support/stack/api-client.ts";

/** Resources of an application's brokerage: the newest identifiers of each kind. */
export interface Known {
  readonly clients: string[];
  readonly accounts: string[];
  readonly transactions: string[];
  readonly events: string[];
  /** Deposits that were not completed yet. */
  readonly pending: string[];
  /** An account with money enough for every withdrawal of a run. */
  readonly funded: string;
  readonly credentials: Credentials;
}

/** A request of an endpoint, ready to be sent. */
export interface Drawn {
  readonly route: Route;
  readonly path: string;
  readonly body?: unknown;
  /** Body of the token endpoint, in place of `body`. */
  readonly form?: URLSearchParams;
  /** Event that its success must bring, about the resource of the answer. */
  readonly emits?: EventType;
}

const mostKnown = 50;
const quoted = ["EURUSD", "GBPUSD", "USDJPY"] as const;
const byId = new Map(routes.map((route) => [route.id, route]));

/** Every kind of event that requests of the mix may bring. */
export function kindsOfMix(): string[] {
  return [...new Set(Object.keys(mix).flatMap((id) => routeOf(id).emits))];
}

/** The row of an endpoint of the mix; throws for one that the route table has not got. */
export function routeOf(id: string): Route {
  const route = byId.get(id);
  if (route === undefined) throw new Error(`The route table has no endpoint ${id}.`);
  return route;
}

/** An endpoint of the mix, by a number from 0 up to 1. */
export function endpointAt(chance: number): string {
  const whole = Object.values(mix).reduce((sum, parts) => sum + parts, 0);
  let left = chance * whole;
  for (const [id, parts] of Object.entries(mix)) {
    left -= parts;
    if (left < 0) return id;
  }
  throw new Error("A chance is below 1.");
}

/**
 * A request of an endpoint about something that the application knows; `random` gives numbers from 0 up to 1. Where no
 * deposit waits to be completed, one is made; where no event is known, events are listed.
 */
export function draw(id: string, known: Known, random: () => number): Drawn {
  const route = routeOf(id);
  const any = (ids: readonly string[]) => ids[Math.floor(random() * ids.length)] ?? "";
  const of = (ids: readonly string[]) => route.path.replace("{id}", any(ids));
  switch (id) {
    case "create_client":
      return { route, path: route.path, body: someClient(), emits: "client.created" };
    case "update_client": {
      const body = { first_name: `Ana ${Math.floor(random() * 1e9).toString(36)}` };
      return { route, path: of(known.clients), body, emits: "client.updated" };
    }
    case "create_account":
      return { route, path: route.path, body: { client_id: any(known.clients) }, emits: "account.created" };
    case "create_deposit":
      return {
        route,
        path: route.path,
        body: { account_id: any(known.accounts), amount: "10.00" },
        emits: "transaction.created",
      };
    case "update_transaction": {
      const pending = known.pending.shift();
      if (pending === undefined) return draw("create_deposit", known, random);
      const path = route.path.replace("{id}", pending);
      return { route, path, body: { status: "completed" }, emits: "transaction.completed" };
    }
    case "create_withdrawal": {
      const body = { account_id: known.funded, amount: "0.01" };
      return { route, path: route.path, body, emits: "transaction.created" };
    }
    case "update_account": {
      const body = { name: `Desk ${Math.floor(random() * 1e9).toString(36)}` };
      return { route, path: of(known.accounts), body, emits: "account.updated" };
    }
    case "create_token": {
      const form = new URLSearchParams({ grant_type: "client_credentials", ...known.credentials });
      return { route, path: route.path, form };
    }
    case "get_event":
      return known.events.length === 0 ? draw("list_events", known, random) : { route, path: of(known.events) };
    case "list_quotes":
      return { route, path: `${route.path}?symbols=${quoted.join(",")}` };
    case "get_account_metrics":
      return { route, path: `${route.path}?account_ids=${any(known.accounts)}` };
    default:
      return { route, path: of(idsFor(route.path, known)).replace("{symbol}", quoted[0]) };
  }
}

function idsFor(path: string, { clients, accounts, transactions }: Known): readonly string[] {
  if (path.startsWith("/clients")) return clients;
  return path.startsWith("/accounts") ? accounts : transactions;
}

/** Remembers what a request made or listed; the oldest of many is forgotten. */
export function remember(known: Known, routeId: string, id: string): void {
  const { clients, accounts, transactions, events, pending } = known;
  const found: Readonly<Record<string, readonly string[][]>> = {
    create_client: [clients],
    create_account: [accounts],
    create_deposit: [transactions, pending],
    create_withdrawal: [transactions],
    list_events: [events],
  };
  for (const each of found[routeId] ?? []) {
    each.push(id);
    if (each.length > mostKnown) each.shift();
  }
}
