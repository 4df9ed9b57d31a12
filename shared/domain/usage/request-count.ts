/** Resources that requests used. */
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

/** Usage in the log line of one request. */
export function usageOfRequest(line: Readonly<Record<string, unknown>>): RequestUsage {
  const { method, duration_ms, memory_mb, read_units, write_units } = line;
  const function_ms = amount(duration_ms);
  return {
    requests: 1,
    writes: method === "GET" ? 0 : 1,
    read_units: amount(read_units),
    write_units: amount(write_units),
    function_ms,
    memory_mb_ms: function_ms * amount(memory_mb),
  };
}

function amount(value: unknown): number {
  return typeof value === "number" && value >= 0 ? value : 0;
}
