import { timingSafeEqual } from "node:crypto";
import { secretLives } from "../domain/access/application.ts";
import type { Application } from "../domain/records/application.ts";
import { addressBlock, addressInRanges } from "../runtime/address.ts";
import { nowMs } from "../runtime/clock.ts";
import { sha256 } from "../runtime/digest.ts";
import { awaitingVerdict } from "../runtime/verdict.ts";
import type { AccessRefusalCode } from "../schema/audit/recorded-refusals.ts";
import { countFailure, countRequest, type RateVerdict } from "../table/counters.ts";
import { type ApplicationRef, applicationRefs, applications } from "../table/entities.ts";
import { readKeys } from "../table/store.ts";
import { type RawTokenRequest, readTokenRequest } from "./credentials.ts";
import { failure, type OAuthAnswer, tooMany, unknownClient, withRate } from "./oauth-answer.ts";
import { type AccessAction, type AccessAttempt, applicationParty, reportAccessRefusal } from "./token-audit.ts";

/** A request to an OAuth endpoint, with where and when it came from. */
export interface OAuthRequest extends RawTokenRequest, AccessAttempt {
  /** When API Gateway took it in, epoch milliseconds. */
  readonly time_ms: number;
}

/** An application that proved who it is. */
export interface AuthenticatedClient {
  readonly application: Application;
  /** Number of the secret that it used. */
  readonly secret_number: number;
}

/** Work of an endpoint for an authenticated client with the parameters of its request. */
export type ClientWork = (client: AuthenticatedClient, parameters: ReadonlyMap<string, string>) => Promise<OAuthAnswer>;

/** An application that knows its secret, and why it is not let in. */
interface RefusedClient {
  readonly application: Application;
  readonly refused: AccessRefusalCode;
}

/** An endpoint for clients. */
interface ClientEndpoint {
  readonly action: AccessAction;
  /** Looks at the parameters first. */
  readonly check: (parameters: ReadonlyMap<string, string>) => OAuthAnswer | undefined;
  readonly work: ClientWork;
}

/**
 * Lets an authenticated client in and does its work; refuses everybody else in the same words, with the same reads and
 * the same comparisons. Failures are counted per address; a right secret always passes, and only requests with one
 * count against the limits of an application, so no other caller can lock a broker out by knowing an id. The work reads
 * while its request is counted; where the limit refuses it, the work has written nothing. An application that knows its
 * secret and is refused leaves an entry of the audit: its message is sent while the failure is counted, or after the
 * work.
 */
export async function forClient(request: OAuthRequest, { action, check, work }: ClientEndpoint): Promise<OAuthAnswer> {
  const read = readTokenRequest(request);
  if (!read.ok) {
    return read.error === "invalid_client" ? unknownClient(read.basic) : failure(read.error, read.detail, read.status);
  }
  const fault = check(read.parameters);
  if (fault !== undefined) return fault;
  const client = await authenticate(read.client_id, read.client_secret, request.address);
  const report = ({ application, refused }: RefusedClient) =>
    reportAccessRefusal(applicationParty(application), action, request, refused);
  const origin = addressBlock(request.address);
  if (client === undefined || "refused" in client) {
    const [wait] = await Promise.all([countFailure(origin, request.time_ms), client && report(client)]);
    return wait === undefined ? unknownClient(read.basic) : tooMany(wait);
  }
  const { application } = client;
  const { tenant_id, id } = application;
  const counter = { tenant_id, application_id: `${id}|TOKEN|${sha256(origin).slice(0, 16)}` };
  const counted = countRequest(counter, "standard", request.time_ms);
  const answer = await answerWhileCounting(counted, () => work(client, read.parameters));
  if (answer.refused !== undefined) await report({ application, refused: answer.refused });
  return withRate(answer, await counted);
}

/** The answer of the work, which reads while the request is counted and writes only when it is allowed. */
async function answerWhileCounting(
  counted: Promise<RateVerdict>,
  work: () => Promise<OAuthAnswer>,
): Promise<OAuthAnswer> {
  const allowed = async () => {
    if (!(await counted).allowed) throw new Error("The client has made too many requests.");
  };
  const [worked] = await Promise.allSettled([awaitingVerdict(allowed, work)]);
  const rate = await counted;
  if (!rate.allowed) return tooMany(rate.retry_after_seconds);
  if (worked.status === "rejected") throw worked.reason;
  return worked.value;
}

const absent = { pk: "brk_00000000000000000000000000#app_00000000000000000000000000", sk: "APP" };

/**
 * The active application whose current secret this is, or whose secret before within its overlap, and that may call
 * from the address; or the application whose secret it is or was, and why it is refused.
 */
async function authenticate(
  clientId: string,
  secret: string,
  address: string,
): Promise<AuthenticatedClient | RefusedClient | undefined> {
  const application = /^app_[A-Za-z0-9]{24}$/.test(clientId) ? await applicationOf(clientId) : undefined;
  const offered = Buffer.from(sha256(secret), "hex");
  const current = matches(offered, application?.secret_sha256);
  const previous = matches(offered, application?.previous_secret_sha256);
  if (application === undefined || (!current && !previous)) return undefined;
  if (application.status !== "active") return { application, refused: "application_revoked" };
  const secret_number = application.secret_number - (current ? 0 : 1);
  if (!secretLives(application, secret_number, nowMs())) return { application, refused: "invalid_client" };
  const ranges = application.allowed_ips;
  if (ranges.length > 0 && !addressInRanges(address, ranges)) return { application, refused: "address_not_allowed" };
  return { application, secret_number };
}

function matches(offered: Buffer, stored: string | null | undefined): boolean {
  return timingSafeEqual(offered, Buffer.from(stored ?? sha256("no such secret"), "hex")) && stored != null;
}

/** Two reads for a known client id, and two for an unknown one. */
async function applicationOf(clientId: string): Promise<Application | undefined> {
  const [found] = await readKeys([applicationRefs.key(clientId)]);
  const reference = found as ApplicationRef | undefined;
  const key = reference === undefined ? absent : applications.key(reference.owner_tenant_id, reference.application_id);
  const [application] = await readKeys([key]);
  return application as Application | undefined;
}
