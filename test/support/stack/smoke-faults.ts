import type { SmokeOptions } from "../../../infra/tools/smoke/check.ts";
import type { PassedReply, PassedRequest, Fault as Planted } from "./fault-proxy.ts";

/** A fault of a deployment, the check that has to find it, and what it has to say. */
export interface Fault {
  /** Completes "finds that". */
  readonly name: string;
  /** Where it is planted; at the API without it. */
  readonly at?: "dashboard";
  readonly fault: Planted;
  readonly check: string;
  readonly says: RegExp;
  /** Logical id, without its hash, of a resource that the finding has to name. */
  readonly resource: string;
  readonly options?: Partial<SmokeOptions>;
}

const pathOf = ({ path }: PassedRequest) => path.replace(/^\/v2/, "");

/** Changes the answers that have this status. */
function whereStatus(status: number, change: (reply: PassedReply) => Partial<PassedReply>): Planted {
  return { reply: (reply) => (reply.status === status ? change(reply) : {}) };
}

/** Changes the answers to requests of this method and path. */
function where(method: string, path: RegExp, change: (reply: PassedReply) => Partial<PassedReply>): Planted {
  return { reply: (reply, request) => (request.method === method && path.test(pathOf(request)) ? change(reply) : {}) };
}

function without(name: string) {
  return ({ headers }: PassedReply): Partial<PassedReply> => ({
    headers: Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name)),
  });
}

/** Answer of API Gateway where no gateway response is defined. */
function gatewayDefault(status: number, message: string): () => PassedReply {
  return () => ({ status, headers: { "content-type": "application/json" }, body: JSON.stringify({ message }) });
}

const internalError = {
  status: 500,
  body: JSON.stringify({ status: 500, code: "internal_error", title: "The request failed." }),
};

/** Rewrites the claims of an access token, as another setting of the function would, without its signature. */
function withClaims(body: string, claims: Readonly<Record<string, string>>): string {
  const answer = JSON.parse(body) as { access_token: string };
  const [head, payload = "", signature] = answer.access_token.split(".");
  const changed = { ...JSON.parse(Buffer.from(payload, "base64url").toString()), ...claims };
  const text = Buffer.from(JSON.stringify(changed)).toString("base64url");
  return JSON.stringify({ ...answer, access_token: [head, text, signature].join(".") });
}

/** Gives each caller of `/me` the answer of the first one, as a cache without the token in its key would. */
function mixedUp(): Planted {
  let first: string | undefined;
  return {
    reply: ({ status, body }, request) => {
      if (pathOf(request) !== "/me" || status !== 200) return {};
      first ??= body;
      return { body: first };
    },
  };
}

/** Sends the first token in the place of each other one, as a cache without the signature in its key would. */
function firstToken(): Planted {
  let first: string | undefined;
  return {
    request: ({ headers }) => {
      const { authorization } = headers;
      if (authorization === undefined) return {};
      first ??= authorization;
      return { headers: { ...headers, authorization: first } };
    },
  };
}

const page = "<!doctype html><div id=root></div>";

/** Faults that a deployment could have, each of which one check has to find. */
export const faults: readonly Fault[] = [
  {
    name: "the stream takes no ticket",
    fault: where("POST", /^\/stream_tickets$/, ({ body }) => ({
      body: body.replaceAll("ticket=stk_", "ticket=stk_x"),
    })),
    check: "stream",
    says: /The handshake is refused: .*401/,
    resource: "StreamAuthorizeFunction",
  },
  {
    name: "the stream sends another event than the API",
    fault: where("GET", /^\/events\/evt_\w+$/, ({ body }) => ({
      body: body.replace("client.updated", "client.created"),
    })),
    check: "stream",
    says: /differs from that of GET \/events/,
    resource: "StreamDeliverFunction",
  },
  {
    name: "unknown paths answer as AWS does by default",
    fault: whereStatus(404, gatewayDefault(403, "Missing Authentication Token")),
    check: "unknown-path",
    says: /answered 403 .*Missing Authentication Token.* instead of 404/,
    resource: "ApiResponsesMISSINGAUTHENTICATIONTOKEN",
  },
  {
    name: "an encoded slash divides a path",
    fault: { request: ({ path }) => (path.includes("%2F") ? { path: path.replace("%2F", "/") } : {}) },
    check: "encoded-path",
    says: /has the body .*, not symbol_not_found/,
    resource: "GetSymbolFunction",
  },
  {
    name: "401 has no challenge",
    fault: whereStatus(401, without("www-authenticate")),
    check: "unauthenticated",
    says: /www-authenticate: null/,
    resource: "ApiResponsesUNAUTHORIZED",
  },
  {
    name: "a tampered token is admitted",
    fault: firstToken(),
    check: "unauthenticated",
    says: /answered 200 .* instead of 401/,
    resource: "ApiAuthorizer",
  },
  {
    name: "405 does not name the methods of the path",
    fault: whereStatus(405, without("allow")),
    check: "method-not-allowed",
    says: /allow: null, not GET, POST/,
    resource: "ApiClientsPathsNestedStackClientsPathsNestedStackResource",
  },
  {
    name: "415 of the gateway has the body of AWS",
    fault: whereStatus(415, gatewayDefault(415, "Unsupported Media Type")),
    check: "media-type",
    says: /content type application\/json/,
    resource: "ApiResponsesUNSUPPORTEDMEDIATYPE",
  },
  {
    name: "413 has another body",
    fault: whereStatus(413, gatewayDefault(413, "Request Too Long")),
    check: "too-large",
    says: /Request Too Long/,
    resource: "ApiResponsesREQUESTTOOLARGE",
  },
  {
    name: "a security header is missing",
    fault: where("GET", /^\/me$/, without("strict-transport-security")),
    check: "headers",
    says: /strict-transport-security: null/,
    resource: "ApiRestApi",
  },
  {
    name: "answers are not compressed",
    fault: { request: ({ headers }) => ({ headers: { ...headers, "accept-encoding": "identity" } }) },
    check: "compression",
    says: /content coding null/,
    resource: "ApiRestApi",
  },
  {
    name: "the authorizer's cache takes one caller for another",
    fault: mixedUp(),
    check: "authorizer-cache",
    says: /is taken for one of app_/,
    resource: "ApiAuthorizer",
  },
  {
    name: "tokens have the issuer of another stage",
    fault: where("POST", /^\/oauth\/token$/, ({ body }) => ({
      body: withClaims(body, { iss: "https://api.brokerage.example" }),
    })),
    check: "token",
    says: /issuer is https:\/\/api\.brokerage\.example, not https:\/\/sandbox\./,
    resource: "CreateTokenFunction",
  },
  {
    name: "the key set is empty",
    fault: where("GET", /jwks\.json$/, () => ({ body: '{"keys":[]}' })),
    check: "signing-key",
    says: /The key set is empty/,
    resource: "SigningKeyRotation",
  },
  {
    name: "the published key is not the one that signs",
    fault: where("POST", /^\/oauth\/token$/, ({ body }) => ({ body: withClaims(body, { env: "none" }) })),
    check: "signing-key",
    says: /does not verify the token/,
    resource: "RotateSigningKeyFunction",
  },
  {
    name: "no role may put ledger entries",
    fault: where("PATCH", /^\/transactions\//, () => internalError),
    check: "deposit",
    says: /PATCH \/transactions\/txn_\w+ answered 500 .*internal_error.* instead of 200/,
    resource: "UpdateTransactionRole",
  },
  {
    name: "a list cannot be read through the conditions on its keys",
    fault: where("GET", /^\/orders/, () => internalError),
    check: "lists",
    says: /GET \/orders\?limit=1 answered 500/,
    resource: "ListOrdersRole",
  },
  {
    name: "idempotency keys are not looked at",
    fault: {
      request: ({ headers }) => ({
        headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== "idempotency-key")),
      }),
    },
    check: "idempotency",
    says: /The repetition made txn_\w+, not txn_/,
    resource: "CreateDepositRole",
  },
  {
    name: "commits are not published",
    fault: where("GET", /^\/events/, () => ({ body: '{"data":[]}' })),
    check: "events",
    says: /GET \/events shows none/,
    resource: "RouteStream",
    options: { patienceMs: 500 },
  },
  {
    name: "no webhook is sent",
    fault: {
      request: ({ method, path, body }) =>
        method === "POST" && path === "/v2/webhook_endpoints"
          ? { body: JSON.stringify({ ...JSON.parse(body), event_types: ["margin.call"] }) }
          : {},
    },
    check: "webhook",
    says: /No webhook arrived within 1 s/,
    resource: "DeliverFunction",
    options: { patienceMs: 1000 },
  },
  {
    name: "429 has no Retry-After",
    fault: whereStatus(429, without("retry-after")),
    check: "rate",
    says: /Retry-After: null/,
    resource: "TablesVolatile",
  },
  {
    name: "nothing is counted",
    fault: where("GET", /^\/me$/, without("x-ratelimit-remaining")),
    check: "rate",
    says: /X-RateLimit-Remaining is/,
    resource: "TablesVolatile",
  },
  {
    name: "the fallback of the dashboard answers a page for the API's 404",
    at: "dashboard",
    fault: whereStatus(404, () => ({ status: 200, headers: { "content-type": "text/html" }, body: page })),
    check: "dashboard-api",
    says: /answered 200 .* instead of 404/,
    resource: "SinglePage",
  },
  {
    name: "the dashboard has no content security policy",
    at: "dashboard",
    fault: { reply: (reply) => without("content-security-policy")(reply) },
    check: "dashboard",
    says: /content-security-policy: null/,
    resource: "Headers",
  },
  {
    name: "applications are admitted at the dashboard's address",
    at: "dashboard",
    fault: whereStatus(403, () => ({ status: 200, body: "{}" })),
    check: "dashboard-api",
    says: /An application is answered 200/,
    resource: "OriginSecret",
  },
  {
    name: "the settings of the dashboard name another user pool",
    at: "dashboard",
    fault: {
      reply: ({ body }, { path }) =>
        path === "/config.json" ? { body: body.replace(/"issuer":"[^"]+/, "$&-of-another-stage") } : {},
    },
    check: "sign-in",
    says: /The pool \S+-of-another-stage answered 404/,
    resource: "OperatorsPool",
  },
];
