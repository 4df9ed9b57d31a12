import { createContext, Script } from "node:vm";

/** A request as a function at the edge sees it here; one that reads more of it fails. */
export interface EdgeRequest {
  readonly method: string;
  /** Path, not decoded. */
  readonly uri: string;
}

/** Longer than CloudFront lets a function run; this machine may be busy. */
const limitMs = 1_000;

/** A CloudFront Function: a script without modules, network or state, whose `handler` is called with an event. */
export class EdgeFunction {
  private readonly script: Script;

  /** Throws a SyntaxError for anything other than a script. */
  constructor(code: string) {
    this.script = new Script(`${code}\nJSON.stringify(handler(event));`);
  }

  /** The path that the function makes of a request's, before a behaviour is applied (event type `viewer-request`). */
  run(request: EdgeRequest): string {
    const context = { eventType: "viewer-request", distributionDomainName: "local", distributionId: "local" };
    const event = { version: "1.0", context, request };
    // Each run gets globals of its own, as a function at the edge keeps nothing between two requests.
    const result: unknown = this.script.runInContext(createContext({ event: structuredClone(event) }), {
      timeout: limitMs,
    });
    const { uri, statusCode } = typeof result === "string" ? JSON.parse(result) : { statusCode: undefined };
    if (typeof uri === "string" && statusCode === undefined) return uri;
    throw new Error("the local runner knows functions at the edge that change the path only");
  }
}
