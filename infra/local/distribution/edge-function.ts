import { createContext, Script } from "node:vm";

/** A request as a function at the edge sees it; names of headers in lower case. */
export interface EdgeRequest {
  readonly method: string;
  /** Path, not decoded. */
  readonly uri: string;
  readonly querystring: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly cookies: Readonly<Record<string, unknown>>;
}

/** What a function at the edge makes of a request: the request to go on with, or the answer. */
export type EdgeResult = Partial<EdgeRequest> & { readonly statusCode?: number };

/** Longer than CloudFront lets a function run; this machine may be busy. */
const limitMs = 1_000;

/** A CloudFront Function: a script without modules, network or state, whose `handler` is called with an event. */
export class EdgeFunction {
  private readonly script: Script;

  /** Throws a SyntaxError for anything other than a script. */
  constructor(code: string) {
    this.script = new Script(`${code}\nJSON.stringify(handler(event));`);
  }

  /** Runs the function before a behaviour is applied (event type `viewer-request`). */
  run(request: EdgeRequest, viewerIp: string): EdgeResult {
    const context = { eventType: "viewer-request", distributionDomainName: "local", distributionId: "local" };
    const event = { version: "1.0", context, viewer: { ip: viewerIp }, request };
    // Each run gets globals of its own, as a function at the edge keeps nothing between two requests.
    const result: unknown = this.script.runInContext(createContext({ event: structuredClone(event) }), {
      timeout: limitMs,
    });
    if (typeof result !== "string") throw new Error("The function at the edge returned neither request nor response.");
    return JSON.parse(result) as EdgeResult;
  }
}

/** Several values of one name, in the form of CloudFront Functions. */
export function edgeValues(pairs: readonly (readonly [name: string, value: string])[]): Record<string, unknown> {
  const lists = new Map<string, string[]>();
  for (const [name, value] of pairs) lists.set(name, [...(lists.get(name) ?? []), value]);
  const entries = [...lists].map(([name, values]) => {
    const multiValue = values.length > 1 ? { multiValue: values.map((value) => ({ value })) } : {};
    return [name, { value: values.at(-1) ?? "", ...multiValue }] as const;
  });
  return Object.fromEntries(entries);
}
