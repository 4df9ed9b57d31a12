import { type Exchange, lastValue } from "./exchange.ts";
import type { Fault } from "./fault.ts";

/** Variables of an API that are the same for every request of one stage. */
export interface StageIdentity {
  readonly account_id: string;
  readonly api_id: string;
  readonly stage: string;
  readonly deployment_id: string;
}

/** Looks up a `$context` variable by its name without the prefix; null when the request has no such value. */
export type ContextValues = (name: string) => string | null;

const plain = [
  "accountId",
  "apiId",
  "authorizer.integrationLatency",
  "authorizer.principalId",
  "deploymentId",
  "domainName",
  "domainPrefix",
  "extendedRequestId",
  "httpMethod",
  "identity.apiKeyId",
  "identity.sourceIp",
  "identity.userAgent",
  "path",
  "protocol",
  "requestId",
  "requestTime",
  "requestTimeEpoch",
  "resourceId",
  "resourcePath",
  "stage",
] as const;
const ofErrors = ["error.message", "error.messageString", "error.responseType"] as const;

type PlainName = (typeof plain)[number];
type ErrorName = (typeof ofErrors)[number];

function isPlain(name: string): name is PlainName {
  return plain.some((known) => known === name);
}

function isOfErrors(name: string): name is ErrorName {
  return ofErrors.some((known) => known === name);
}

/** Whether a variable is known here; what an authorizer puts under `authorizer.` is only known at run time. */
export function isContextVariable(name: string): boolean {
  return isPlain(name) || isOfErrors(name) || /^authorizer\.[A-Za-z][\w-]*$/.test(name);
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A time as web servers log it, `09/Apr/2015:12:34:56 +0000`; input in milliseconds. */
export function commonLogTime(epochMs: number): string {
  const iso = new Date(epochMs).toISOString();
  return `${iso.slice(8, 10)}/${months[Number(iso.slice(5, 7)) - 1]}/${iso.slice(0, 4)}:${iso.slice(11, 19)} +0000`;
}

/** The name that the caller used for the service. */
export function domainName(exchange: Exchange): string {
  return lastValue(exchange.headers, "host") ?? "";
}

/** The variables of a request; with a fault also those of errors. */
export function contextOf(stage: StageIdentity, exchange: Exchange, fault?: Fault): ContextValues {
  const values: Record<PlainName, () => string | null> = {
    accountId: () => stage.account_id,
    apiId: () => stage.api_id,
    "authorizer.integrationLatency": () => exchange.caller?.latency_ms.toString() ?? null,
    "authorizer.principalId": () => exchange.caller?.principal_id ?? null,
    deploymentId: () => stage.deployment_id,
    domainName: () => domainName(exchange),
    domainPrefix: () => domainName(exchange).split(".")[0] ?? null,
    extendedRequestId: () => exchange.extended_request_id,
    httpMethod: () => exchange.method,
    "identity.apiKeyId": () => exchange.api_key?.id ?? null,
    "identity.sourceIp": () => exchange.source_ip,
    "identity.userAgent": () => lastValue(exchange.headers, "user-agent") ?? null,
    path: () => exchange.full_path,
    protocol: () => exchange.protocol,
    requestId: () => exchange.request_id,
    requestTime: () => commonLogTime(exchange.received_ms),
    requestTimeEpoch: () => exchange.received_ms.toString(),
    resourceId: () => exchange.route?.resource_id ?? null,
    resourcePath: () => exchange.route?.resource_path ?? null,
    stage: () => stage.stage,
  };
  const errors: Record<ErrorName, () => string | null> = {
    "error.message": () => fault?.text ?? null,
    "error.messageString": () => (fault === undefined ? null : JSON.stringify(fault.text)),
    "error.responseType": () => fault?.type ?? null,
  };
  return (name) => {
    if (isPlain(name)) return values[name]();
    if (isOfErrors(name)) return errors[name]();
    return exchange.caller?.values[name.slice("authorizer.".length)] ?? null;
  };
}
