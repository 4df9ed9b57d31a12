/** What requests took. */
export interface RequestUsage {
  readonly requests: number;
  /** Those of them that are no GET. */
  readonly writes: number;
  /** Units of DynamoDB; a read may take half a unit. */
  readonly read_units: number;
  readonly write_units: number;
  /** Time of the functions, from the arrival of a request to its answer. */
  readonly function_ms: number;
  /** Memory of the functions for as long as they ran: MB × ms. */
  readonly memory_mb_ms: number;
}

/** What the requests of one caller took in one hour, by route group. */
export interface CallerUsage {
  readonly tenant_id: string;
  readonly actor_id: string;
  readonly groups: Readonly<Record<string, RequestUsage>>;
}

/** No request. */
export const noUsage: RequestUsage = {
  requests: 0,
  writes: 0,
  read_units: 0,
  write_units: 0,
  function_ms: 0,
  memory_mb_ms: 0,
};

/** The sum of two usages, member by member. */
export function addUsage(a: RequestUsage, b: RequestUsage): RequestUsage {
  return {
    requests: a.requests + b.requests,
    writes: a.writes + b.writes,
    read_units: a.read_units + b.read_units,
    write_units: a.write_units + b.write_units,
    function_ms: a.function_ms + b.function_ms,
    memory_mb_ms: a.memory_mb_ms + b.memory_mb_ms,
  };
}

/** Counts the requests of log lines, each once, however often and in whatever order its line comes. */
export class RequestCount {
  private readonly seen = new Set<string>();
  private readonly callers = new Map<string, { of: Pick<CallerUsage, "tenant_id" | "actor_id">; groups: Groups }>();

  /** Adds a line of a log. One that is not of the request of a caller is ignored: see `finish` for what one says. */
  add(text: string): void {
    const line = requestLine(text);
    if (line === undefined || this.seen.has(line.request_id)) return;
    this.seen.add(line.request_id);
    const { tenant_id, actor_id, route_group } = line;
    const name = `${tenant_id}|${actor_id}`;
    const caller = this.callers.get(name) ?? { of: { tenant_id, actor_id }, groups: new Map() };
    this.callers.set(name, caller);
    caller.groups.set(route_group, addUsage(caller.groups.get(route_group) ?? noUsage, line.usage));
  }

  /** Usage of each caller that was seen. */
  get usage(): CallerUsage[] {
    return [...this.callers.values()].map(({ of, groups }) => ({ ...of, groups: Object.fromEntries(groups) }));
  }
}

type Groups = Map<string, RequestUsage>;

interface RequestLine {
  readonly request_id: string;
  readonly tenant_id: string;
  readonly actor_id: string;
  readonly route_group: string;
  readonly usage: RequestUsage;
}

function requestLine(text: string): RequestLine | undefined {
  const line = objectIn(text);
  const named = ["request_id", "tenant_id", "actor_id", "route_group"].map((name) => line[name]);
  if (line["message"] !== "request" || !named.every((value) => typeof value === "string")) return undefined;
  const [request_id = "", tenant_id = "", actor_id = "", route_group = ""] = named;
  const { method, duration_ms, memory_mb, read_units, write_units } = line;
  const function_ms = amount(duration_ms);
  const usage: RequestUsage = {
    requests: 1,
    writes: method === "GET" ? 0 : 1,
    read_units: amount(read_units),
    write_units: amount(write_units),
    function_ms,
    memory_mb_ms: function_ms * amount(memory_mb),
  };
  return { request_id, tenant_id, actor_id, route_group, usage };
}

/** The object that a line of JSON holds; an empty one for any other line, such as those of Lambda itself. */
function objectIn(text: string): Readonly<Record<string, unknown>> {
  if (!text.startsWith("{")) return {};
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function amount(value: unknown): number {
  return typeof value === "number" && value >= 0 ? value : 0;
}
