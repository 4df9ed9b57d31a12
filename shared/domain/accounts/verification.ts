import type { UpdateClient } from "../../schema/client.ts";
import {
  type Context,
  type FieldError,
  refuse,
  refuseField,
  refuseFields,
  refuseScope,
  unchanged,
} from "../kernel/decision.ts";
import type { Decision } from "../records/change.ts";
import type { Client } from "../records/client.ts";

type VerificationStatus = Client["verification_status"];
type Patch = UpdateClient;

/** Verification states, each with those that may follow it. */
const verificationMoves: Readonly<Record<VerificationStatus, readonly VerificationStatus[]>> = {
  unverified: ["pending", "verified", "rejected"],
  pending: ["verified", "rejected", "unverified"],
  verified: ["pending", "rejected"],
  rejected: ["pending", "verified"],
  expired: ["pending", "verified", "rejected"],
};

/**
 * Whether a client counts as verified: from its `expires_at` on a verification does not, also while the sweep has yet
 * to store that. A closed client cannot be verified again: what it was at its closing counts for the money that it has
 * yet to get.
 */
export function isVerified(
  { verification_status, verification, closed_at }: Pick<Client, "verification_status" | "verification" | "closed_at">,
  now: string,
): boolean {
  const { expires_at } = verification;
  return verification_status === "verified" && (expires_at === null || expires_at > (closed_at ?? now));
}

/** The verification status of a client by the clock: `expired` from the end of its verification on. */
export function standing(client: Client, now: string): VerificationStatus {
  const { status, verification_status } = client;
  const isLapsed = status !== "closed" && verification_status === "verified" && !isVerified(client, now);
  return isLapsed ? "expired" : verification_status;
}

/**
 * Decides what a patch makes of the verification of a client. One that another system made has the time that the caller
 * names, and one that has ended is not recorded.
 */
export function amendVerification(
  client: Client,
  patch: Patch,
  context: Context,
): Decision<Pick<Client, "verification_status" | "verification">> {
  const from = standing(client, context.now);
  const to = patch.verification_status ?? from;
  const verification = { ...client.verification, ...verificationPatch(patch) } as Client["verification"];
  const touched = patch.verification !== undefined;
  const { expires_at } = patch.verification ?? {};
  const isOpen = client.status !== "closed";
  if (isOpen && to === "verified" && expires_at && Date.parse(expires_at) <= Date.parse(context.now)) {
    return refuseField("validation_failed", "verification/expires_at", "must be in the future", "out_of_range");
  }
  const given = patch.verification?.verified_at;
  if (isOpen && given !== undefined) {
    const expires_at = endOf(verification, patch, context.now);
    const fault = faultOfTime(to, { ...verification, expires_at }, context.now);
    if (fault !== undefined) return fault;
  }
  if (to === from) {
    if (touched && !context.scopes.includes("clients:verify")) return refuseScope("clients:verify");
    return unchanged({ verification_status: from, verification });
  }
  const allowed = verificationMoves[from];
  if (!allowed.includes(to)) return refuseMove("verification_status", from, to, allowed);
  const own = (to === "pending" && from !== "verified") || to === "unverified";
  if ((!own || touched) && !context.scopes.includes("clients:verify")) return refuseScope("clients:verify");
  const birth = patch.date_of_birth === undefined ? client.date_of_birth : patch.date_of_birth;
  const country = patch.country === undefined ? client.country : patch.country;
  const needed: FieldError[] = [];
  if (to === "pending" && birth === null) needed.push(required("date_of_birth"));
  if (to === "pending" && country === null) needed.push(required("country"));
  if (to === "rejected" && !patch.verification?.rejection_reasons?.length) {
    needed.push(required("verification/rejection_reasons"));
  }
  if (needed.length > 0) return refuseFields(needed);
  const moment = context.now;
  const next: Client["verification"] =
    to === "verified"
      ? {
          ...verification,
          level: patch.verification?.level ?? "full",
          verified_at: (given && verification.verified_at) ?? moment,
          verified_by: context.actor.id,
          expires_at: endOf(verification, patch, moment),
          rejection_reasons: [],
        }
      : to === "pending"
        ? { ...verification, submitted_at: moment, verified_at: null, verified_by: null, rejection_reasons: [] }
        : { ...verification, verified_at: null, verified_by: null };
  return unchanged({ verification_status: to, verification: next });
}

/** The end of a new verification: one that is over was that of the verification before, unless the request names it. */
function endOf({ expires_at }: Client["verification"], { verification }: Patch, now: string): string | null {
  const isPast = expires_at !== null && expires_at <= now;
  return isPast && verification?.expires_at === undefined ? null : expires_at;
}

/** The caller's members of `verification`, its times in UTC with milliseconds as every moment is shown. */
function verificationPatch({ verification }: Patch): Patch["verification"] {
  if (verification === undefined) return undefined;
  const { verified_at, expires_at } = verification;
  return {
    ...verification,
    ...(verified_at === undefined ? {} : { verified_at: new Date(verified_at).toISOString() }),
    ...(expires_at ? { expires_at: new Date(expires_at).toISOString() } : {}),
  };
}

/** Why a verification cannot have been made when a caller says; undefined where it can. */
function faultOfTime(to: VerificationStatus, { verified_at, expires_at }: Client["verification"], now: string) {
  const fault = (detail: string, code: string) =>
    refuseField("validation_failed", "verification/verified_at", detail, code);
  if (to !== "verified") return fault("goes with the status verified only", "not_allowed");
  if (verified_at !== null && verified_at > now) return fault("must not be in the future", "out_of_range");
  const isLater = verified_at !== null && expires_at !== null && verified_at >= expires_at;
  return isLater ? fault("must be before expires_at", "out_of_range") : undefined;
}

/** A field that a request lacks. */
export function required(field: string): FieldError {
  return { pointer: `#/${field}`, code: "required", detail: "is required" };
}

/** The refusal of a move between states; it names those that are allowed. */
export function refuseMove(field: string, from: string, to: string, allowed: readonly string[]) {
  return refuse("illegal_transition", `${field} cannot go from ${from} to ${to}.`, { extra: { from, to, allowed } });
}
