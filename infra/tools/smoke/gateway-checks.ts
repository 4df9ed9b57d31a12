import type { Reply, Sent } from "../api-call.ts";
import type { Check, Context } from "./check.ts";
import { must, type Resource } from "./finding.ts";
import { functionOf, gatewayResponse, resources } from "./resources.ts";
import { replyText } from "./session.ts";

/** Form of an error. */
interface Problem {
  readonly status: number;
  readonly code: string;
  /** Headers in addition to those of every answer, with their exact values. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly named: readonly Resource[];
}

/** Headers of every answer. */
const everywhere: Readonly<Record<string, string>> = {
  "strict-transport-security": "max-age=63072000; includeSubDomains",
  "x-content-type-options": "nosniff",
};

/**
 * Asserts the headers of every answer: those of security, and one request id, which is that of API Gateway.
 * @throws Finding that names the first header that is missing or has another value
 */
function mustHaveHeaders(what: string, { headers, body }: Reply, named: readonly Resource[]): void {
  for (const [name, value] of Object.entries(everywhere)) {
    must(headers.get(name) === value, `${what} has the header ${name}: ${headers.get(name)}, not ${value}`, named);
  }
  const id = headers.get("x-request-id");
  must(id !== null && id !== "", `${what} has no header X-Request-Id`, named);
  const said = body?.request_id;
  must(said === undefined || said === id, `${what} names the request ${said} and in X-Request-Id ${id}`, named);
}

/**
 * Asserts that an answer is this problem document (RFC 9457), with its headers.
 * @throws Finding that says what differs
 */
export function mustBeProblem(what: string, reply: Reply, { status, code, headers = {}, named }: Problem): void {
  must(reply.status === status, `${what} answered ${replyText(reply)} instead of ${status}`, named);
  const type = reply.headers.get("content-type");
  must(type === "application/problem+json", `${what} answered the content type ${type}: ${replyText(reply)}`, named);
  const { body } = reply;
  must(body?.code === code && body.status === status, `${what} has the body ${replyText(reply)}, not ${code}`, named);
  must(reply.headers.get("cache-control") === "no-store", `${what} may be stored by caches`, named);
  for (const [name, value] of Object.entries(headers)) {
    const found = reply.headers.get(name);
    must(found === value, `${what} has the header ${name}: ${found}, not ${value}`, named);
  }
  mustHaveHeaders(what, reply, named);
}

async function problem(
  { session }: Context,
  request: readonly [method: string, path: string, sent?: Sent],
  expected: Problem,
): Promise<void> {
  const [method, path, sent = { token: null }] = request;
  mustBeProblem(`${method} ${path}`, await session.call(method, path, sent), expected);
}

const challenge = { "www-authenticate": 'Bearer realm="brokerage"' };

/** A token whose signature is another one: its first character is exchanged, since the last holds spare bits. */
function tampered(token: string): string {
  const at = token.lastIndexOf(".") + 1;
  return token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1);
}

/** More than a body may have, and less than what API Gateway accepts. */
const largeBytes = 300_000;

/** Checks of what API Gateway answers by itself, and of what it changes in the answers of functions. */
export const gatewayChecks: readonly Check[] = [
  {
    name: "unknown-path",
    title: "an unknown path answers 404 as a problem document",
    async run(context) {
      const expected = { status: 404, code: "not_found" };
      const named = [gatewayResponse("MISSING_AUTHENTICATION_TOKEN")];
      await problem(context, ["GET", "/no-such-path"], { ...expected, named });
      // With the header Authorization the gateway looks for a signature of AWS in it, and has another answer.
      const signed = [gatewayResponse("INVALID_SIGNATURE"), gatewayResponse("DEFAULT_4XX")];
      await problem(context, ["GET", "/no-such-path", {}], { ...expected, named: signed });
      return undefined;
    },
  },
  {
    name: "encoded-path",
    title: "a name with an encoded slash in a path reaches the function of its endpoint",
    async run(context) {
      const named = [resources.api, functionOf("get_symbol")];
      const expected = { status: 404, code: "symbol_not_found", named };
      await problem(context, ["GET", "/symbols/SMOKE%2F%23%C3%96", {}], expected);
      return undefined;
    },
  },
  {
    name: "unauthenticated",
    title: "without a valid token every request answers 401 with its challenge",
    async run(context) {
      const named = [gatewayResponse("UNAUTHORIZED"), resources.authorizer, functionOf("authorize")];
      const expected = { status: 401, code: "unauthenticated", headers: challenge, named };
      const token = await context.session.token();
      // The valid one first, so that its answer is cached when the others come.
      await context.session.expect(200, "GET", "/me", [resources.authorizer, functionOf("get_me")]);
      for (const sent of [{ token: null }, { token: "x" }, { token: tampered(token) }]) {
        await problem(context, ["GET", "/me", sent], expected);
      }
      return undefined;
    },
  },
  {
    name: "method-not-allowed",
    title: "a method that a path does not have answers 405 and names those that it has",
    async run(context) {
      const headers = { allow: "GET, POST" };
      const expected = { status: 405, code: "method_not_allowed", headers, named: [resources.clientPaths] };
      for (const method of ["DELETE", "OPTIONS"]) await problem(context, [method, "/clients"], expected);
      return undefined;
    },
  },
  {
    name: "media-type",
    title: "another content type answers 415, by the gateway and by functions",
    async run(context) {
      const expected = { status: 415, code: "unsupported_media_type" };
      const xml = { headers: { "Content-Type": "application/xml" }, body: "<a/>" };
      const byGateway = [gatewayResponse("UNSUPPORTED_MEDIA_TYPE"), resources.clientPaths];
      await problem(context, ["PUT", "/clients", { ...xml, token: null }], { ...expected, named: byGateway });
      await problem(context, ["POST", "/clients", xml], { ...expected, named: [functionOf("create_client")] });
      return undefined;
    },
  },
  {
    name: "too-large",
    title: "a body that is too large answers 413",
    async run(context) {
      const body = JSON.stringify({ note: "a".repeat(largeBytes) });
      const sent = { headers: { "Content-Type": "application/json" }, body };
      const named = [functionOf("create_client"), gatewayResponse("REQUEST_TOO_LARGE")];
      await problem(context, ["POST", "/clients", sent], { status: 413, code: "payload_too_large", named });
      return undefined;
    },
  },
  {
    name: "headers",
    title: "answers of functions keep their headers, and one request id",
    async run({ session }) {
      const named = [functionOf("get_me"), resources.api];
      const correlation = `smoke-${Date.now()}`;
      const sent = { headers: { "X-Correlation-Id": correlation } };
      const reply = await session.expect(200, "GET", "/me", named, sent);
      mustHaveHeaders("GET /me", reply, named);
      const echoed = reply.headers.get("x-correlation-id");
      must(echoed === correlation, `GET /me answers X-Correlation-Id: ${echoed}, not ${correlation}`, named);
      const stored = reply.headers.get("cache-control");
      must(stored === "private, no-store", `GET /me has the header Cache-Control: ${stored}`, named);
      return undefined;
    },
  },
  {
    name: "wrong-secret",
    title: "a wrong client secret answers 401, whose challenge the gateway renames",
    async run({ session }) {
      const { client_id } = session.credentials;
      const authorization = `Basic ${Buffer.from(`${client_id}:wrong`).toString("base64")}`;
      const headers = { Authorization: authorization, "Content-Type": "application/x-www-form-urlencoded" };
      const sent = { headers, body: "grant_type=client_credentials", token: null };
      const named = [functionOf("create_token"), resources.api];
      const reply = await session.expect(401, "POST", "/oauth/token", named, sent);
      must(reply.body?.error === "invalid_client", `The token endpoint answered ${replyText(reply)}`, named);
      const renamed = reply.headers.get("x-amzn-remapped-www-authenticate");
      must(renamed === 'Basic realm="oauth"', `The challenge arrives as ${renamed}; a proxy changes headers`, named);
      return undefined;
    },
  },
  {
    name: "compression",
    title: "the OpenAPI document is served, compressed by the gateway",
    async run({ session }) {
      const named = [resources.api, functionOf("get_openapi")];
      const sent = { headers: { "Accept-Encoding": "gzip" }, token: null };
      const reply = await session.expect(200, "GET", "/openapi.json", named, sent);
      must(reply.body?.openapi === "3.0.3", "GET /openapi.json is not the document", named);
      const coding = reply.headers.get("content-encoding");
      must(coding === "gzip", `GET /openapi.json has the content coding ${coding}`, named);
      return undefined;
    },
  },
];
