import { addUsage, noUsage, type RequestUsage, usageOfRequest } from "./request-count.ts";
import { addStream, connectionMinutes, noStream, type StreamUsage } from "./stream-count.ts";

/** Usage of one caller in one hour. */
export interface CallerUsage {
  readonly tenant_id: string;
  readonly actor_id: string;
  /** Requests by route group. */
  readonly groups: Readonly<Record<string, RequestUsage>>;
  /** Undefined without a message and without a connection that ended. */
  readonly stream?: StreamUsage;
}

/** An hour in epoch milliseconds, its end exclusive. */
export interface Hour {
  readonly from_ms: number;
  readonly to_ms: number;
}

interface Counted {
  readonly of: Pick<CallerUsage, "tenant_id" | "actor_id">;
  readonly groups: Map<string, RequestUsage>;
  stream?: StreamUsage;
}

type Line = Readonly<Record<string, unknown>>;

/**
 * Counts what log lines of an hour say of callers, each line once by its identifier, however often and in whatever
 * order it comes. A connection belongs to the hour in which its end was noted first, whenever its line was written.
 */
export class UsageCount {
  private readonly hour: Hour;
  private readonly seen = new Set<string>();
  private readonly callers = new Map<string, Counted>();

  constructor(hour: Hour) {
    this.hour = hour;
  }

  /**
   * Adds a line of a log. One that is about anything else is ignored: see `finish` for what a request says, and
   * `StreamMeter` for messages and connections.
   */
  add(text: string): void {
    const line = objectIn(text);
    if (line["message"] === "request") this.addRequest(line);
    else if (line["message"] === "stream") this.addMessages(line);
    else if (line["message"] === "connection") this.addConnection(line);
  }

  /** Usage of each caller that was seen. */
  get usage(): CallerUsage[] {
    return [...this.callers.values()].map(({ of, groups, stream }) => ({
      ...{ ...of, groups: Object.fromEntries(groups) },
      ...(stream === undefined ? {} : { stream }),
    }));
  }

  private addRequest(line: Line): void {
    const named = texts(line, ["request_id", "tenant_id", "actor_id", "route_group"]);
    if (named === undefined || !this.isNew(named.request_id)) return;
    const { groups } = this.caller(named);
    groups.set(named.route_group, addUsage(groups.get(named.route_group) ?? noUsage, usageOfRequest(line)));
  }

  private addMessages(line: Line): void {
    const named = texts(line, ["line_id", "tenant_id"]);
    if (named === undefined || !this.isNew(named.line_id)) return;
    const { tenant_id } = named;
    for (const [actor_id, messages_sent] of amounts(line["sent"])) {
      this.addStream({ tenant_id, actor_id }, { ...noStream, messages_sent });
    }
    for (const [actor_id, messages_received] of amounts(line["received"])) {
      this.addStream({ tenant_id, actor_id }, { ...noStream, messages_received });
    }
  }

  private addConnection(line: Line): void {
    const named = texts(line, ["connection_id", "tenant_id", "actor_id", "connected_at", "ended_at"]);
    if (named === undefined) return;
    const { connection_id, connected_at, ended_at } = named;
    const noted_ms = Date.parse(ended_at);
    if (!(noted_ms >= this.hour.from_ms && noted_ms < this.hour.to_ms && this.isNew(connection_id))) return;
    this.addStream(named, { ...noStream, connection_minutes: connectionMinutes(connected_at, ended_at) });
  }

  private isNew(id: string): boolean {
    const { size } = this.seen;
    return this.seen.add(id).size > size;
  }

  private addStream(of: Counted["of"], usage: StreamUsage): void {
    const caller = this.caller(of);
    caller.stream = addStream(caller.stream ?? noStream, usage);
  }

  private caller({ tenant_id, actor_id }: Counted["of"]): Counted {
    const name = `${tenant_id}|${actor_id}`;
    const caller = this.callers.get(name) ?? { of: { tenant_id, actor_id }, groups: new Map() };
    this.callers.set(name, caller);
    return caller;
  }
}

/** The object that a line of JSON holds; an empty one for any other line, such as those of Lambda itself. */
function objectIn(text: string): Line {
  if (!text.startsWith("{")) return {};
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** These members of a line; undefined unless all of them are texts. */
function texts<Name extends string>(line: Line, names: readonly Name[]): Readonly<Record<Name, string>> | undefined {
  const found = names.map((name) => [name, line[name]] as const);
  if (!found.every(([, value]) => typeof value === "string")) return undefined;
  return Object.fromEntries(found) as Record<Name, string>;
}

/** Whole numbers above zero by their names. */
function amounts(value: unknown): readonly (readonly [name: string, amount: number])[] {
  return Object.entries(value ?? {}).filter(([, amount]) => Number.isSafeInteger(amount) && amount > 0);
}
