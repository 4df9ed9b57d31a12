import type { UpdateClient } from "../../schema/client.ts";
import { type Context, type FieldError, refuse, refuseFields, refuseScope, unchanged } from "../kernel/decision.ts";
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

/** Members of a verification that a move or a renewal does not take over from the one before. */
const ofOneDecision = {
  verified_at: null,
  verified_by: null,
  checks: [],
  rejection_reasons: [],
  retry_allowed: null,
  comment: null,
} as const satisfies Partial<Client["verification"]>;

/**
 * Decides what a patch makes of the verification of a client. A move starts clean, and so does a renewal: the status
 * `verified` of a client who is verified, with the time of the new verification. Everything else is a correction, which
 * keeps who verified and which checks passed.
 */
export function amendVerification(client: Client, patch: Patch, context: Context): Decision<Amended> {
  const from = standing(client, context.now);
  const to = patch.verification_status ?? from;
  const given = verificationPatch(patch);
  const moves = to !== from;
  const allowed = verificationMoves[from];
  if (moves && !allowed.includes(to)) return refuseMove("verification_status", from, to, allowed);
  const isOwn = !moves || isSubmission(client, from, to);
  if ((!isOwn || given !== undefined) && !context.scopes.includes("clients:verify")) {
    return refuseScope("clients:verify");
  }
  const renews = patch.verification_status === "verified" && given?.verified_at !== undefined;
  const verification =
    moves || renews ? decided(client, { from, to, given }, context) : { ...client.verification, ...given };
  const faults = [
    ...(moves ? missingIn(client, patch, to, verification) : []),
    // A closed client is refused as such.
    ...(client.status === "closed" ? [] : faultsIn(client, { from, to, given }, verification, context.now)),
  ];
  if (faults.length > 0) return refuseFields(faults);
  return unchanged({
    state: { verification_status: to, verification },
    from,
    is_decision: !isOwn || given !== undefined,
  });
}

/** Result of {@link amendVerification}. */
interface Amended {
  readonly state: Pick<Client, "verification_status" | "verification">;
  /** The status before, by the clock. */
  readonly from: VerificationStatus;
  /** Whether it took the right to decide; a submission does not. */
  readonly is_decision: boolean;
}

/** Whether a move is left to who writes clients: they submit a client and take that back; a final rejection stays. */
function isSubmission({ verification }: Client, from: VerificationStatus, to: VerificationStatus): boolean {
  const isFinal = from === "rejected" && verification.retry_allowed === false;
  return to === "unverified" || (to === "pending" && from !== "verified" && !isFinal);
}

/** A move or a renewal, with the members that the request has. */
interface Decided {
  readonly from: VerificationStatus;
  readonly to: VerificationStatus;
  readonly given: GivenVerification | undefined;
}

function decided(client: Client, { from, to, given }: Decided, { now, actor }: Context): Client["verification"] {
  const begun = { ...client.verification, ...ofOneDecision, ...given };
  switch (to) {
    case "verified":
      return {
        ...begun,
        level: given?.level ?? (from === "verified" ? begun.level : "full"),
        verified_at: given?.verified_at ?? now,
        verified_by: actor.id,
      };
    case "pending":
      return { ...begun, submitted_at: now };
    case "rejected":
      return { ...begun, retry_allowed: given?.retry_allowed ?? true };
    default:
      return begun;
  }
}

type GivenVerification = Partial<Client["verification"]>;

/** The caller's members of `verification`, its times in UTC with milliseconds as every moment is shown. */
function verificationPatch({ verification }: Patch): GivenVerification | undefined {
  if (verification === undefined) return undefined;
  const { verified_at, expires_at, checks, retry_allowed, internal_comment: _kept, ...others } = verification;
  return {
    ...others,
    ...(retry_allowed === undefined || retry_allowed === null ? {} : { retry_allowed }),
    ...(verified_at === undefined ? {} : { verified_at: new Date(verified_at).toISOString() }),
    ...(expires_at === undefined ? {} : { expires_at: expires_at && new Date(expires_at).toISOString() }),
    ...(checks === undefined ? {} : { checks: [...new Set(checks)] }),
  } as GivenVerification;
}

/** Members that a move needs and the client lacks. */
function missingIn(
  client: Client,
  patch: Patch,
  to: VerificationStatus,
  { rejection_reasons }: Client["verification"],
): FieldError[] {
  const { date_of_birth, country } = { ...client, ...patch };
  const missing: FieldError[] = [];
  if (to === "pending" && date_of_birth === null) missing.push(required("date_of_birth"));
  if (to === "pending" && country === null) missing.push(required("country"));
  if (to === "rejected" && rejection_reasons.length === 0) missing.push(required("verification/rejection_reasons"));
  return missing;
}

/** Members of a verification that do not go with its result, or with each other. */
function faultsIn(
  client: Client,
  { from, to, given = {} }: Decided,
  made: Client["verification"],
  now: string,
): FieldError[] {
  const fault = (member: string, code: string, detail: string) => ({
    pointer: `#/verification/${member}`,
    code,
    detail,
  });
  const goesWith = (status: VerificationStatus, member: keyof GivenVerification, isGiven: boolean) =>
    isGiven && to !== status ? [fault(member, "not_allowed", `goes with the status ${status} only`)] : [];
  const faults = [
    ...goesWith("verified", "verified_at", given.verified_at !== undefined),
    ...goesWith("verified", "checks", (given.checks ?? []).length > 0),
    ...goesWith("rejected", "rejection_reasons", (given.rejection_reasons ?? []).length > 0),
    ...goesWith("rejected", "retry_allowed", given.retry_allowed !== undefined),
  ];
  if (from === to && given.rejection_reasons?.length === 0 && to === "rejected") {
    faults.push(required("verification/rejection_reasons"));
  }
  const { verified_at, expires_at } = made;
  const hasEnded = expires_at !== null && expires_at <= now;
  const isNewEnd = given.expires_at !== undefined && given.expires_at !== client.verification.expires_at;
  if (hasEnded && (isNewEnd || (to === "verified" && given.expires_at !== undefined))) {
    faults.push(fault("expires_at", "out_of_range", "must be in the future"));
  } else if (hasEnded && from !== to && to === "verified") {
    faults.push(fault("expires_at", "required", "is required, since the last verification has ended: null for no end"));
  }
  if (to !== "verified" || given.verified_at === undefined || verified_at === null) return faults;
  if (verified_at > now) faults.push(fault("verified_at", "out_of_range", "must not be in the future"));
  else if (expires_at !== null && verified_at >= expires_at) {
    faults.push(fault("verified_at", "out_of_range", "must be before expires_at"));
  }
  return faults;
}

/** A field that a request lacks. */
export function required(field: string): FieldError {
  return { pointer: `#/${field}`, code: "required", detail: "is required" };
}

/** The refusal of a move between states; it names those that are allowed. */
export function refuseMove(field: string, from: string, to: string, allowed: readonly string[]) {
  return refuse("illegal_transition", `${field} cannot go from ${from} to ${to}.`, { extra: { from, to, allowed } });
}
