import { timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import { absolute } from "../runtime/links.ts";
import { originHeader, originVariable } from "../runtime/origin.ts";
import { type HeaderHolder, headerOf, headerValues } from "./body.ts";
import { HttpProblem } from "./problem.ts";

/** Where a request comes from. */
export interface Sender {
  /** IP address of the sender; that of the browser for a request through the dashboard's distribution. */
  readonly address: string;
  /** The address of the API, or that of the dashboard, whose distribution passes requests on. */
  readonly entrance: "api" | "dashboard";
}

/** Members about the sender in the event of a function behind a route, and in that of the authorizer. */
interface SentEvent extends HeaderHolder {
  readonly stageVariables: Readonly<Record<string, string | undefined>> | null;
  readonly requestContext: { readonly identity?: { readonly sourceIp?: string | null } };
}

/**
 * The sender of a request. API Gateway appends the address that connects to it to `X-Forwarded-For`, and the
 * distribution that of the browser before it: only with the distribution's secret is the last but one believed. Every
 * other value of forwarding headers is the sender's own claim, and ignored.
 */
export function senderOf(event: SentEvent): Sender {
  const address = event.requestContext.identity?.sourceIp ?? "";
  const [shown, secret] = [headerOf(event, originHeader), event.stageVariables?.[originVariable]];
  if (shown === undefined || !secret || !isSame(shown, secret)) return { address, entrance: "api" };
  const hops = headerValues(event, "X-Forwarded-For").flatMap((value) => value.split(","));
  const viewer = hops.at(-2)?.trim() ?? "";
  return { address: isIP(viewer) === 0 ? address : viewer, entrance: "dashboard" };
}

/**
 * Refuses a request through the dashboard's distribution. That address is for operators; programs call the API itself.
 * @throws HttpProblem `operators_only`
 */
export function refuseDashboard({ sender }: { readonly sender: Sender }): void {
  if (sender.entrance === "api") return;
  throw new HttpProblem("operators_only", `Call the API at ${absolute("/v2/")} instead.`);
}

/** Compares in a time that does not depend on where the texts differ. */
function isSame(shown: string, secret: string): boolean {
  const [one, other] = [Buffer.from(shown), Buffer.from(secret)];
  return one.length === other.length && timingSafeEqual(one, other);
}
