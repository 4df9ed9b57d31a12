import { limits } from "../../limits.ts";
import type { Actor, Context } from "../kernel/decision.ts";
import type { Drift } from "../records/drift.ts";
import { samePerson } from "./person.ts";

/** Proposal of one owner that another one has to agree to; times in RFC 3339. */
export interface Proposal {
  readonly by: Actor;
  readonly at: string;
  /** It has no effect from then on. */
  readonly expires_at: string;
}

/** A proposal of this owner, which another one agrees to within 72 hours. */
export function newProposal(context: Pick<Context, "actor" | "now" | "in">): Proposal {
  const { actor: by, now: at } = context;
  return { by, at, expires_at: context.in(limits.approvals.proposal_seconds) };
}

/** Whether a proposal has not expired. */
export function isOpen<P extends { readonly expires_at: string }>(
  proposal: P | null | undefined,
  { now }: Pick<Context, "now">,
): proposal is P {
  return proposal != null && proposal.expires_at > now;
}

/** Whether an owner who asks for what is proposed is a second one. */
export function isSecond(
  { by }: { readonly by: Parameters<typeof samePerson>[0] },
  { actor }: Pick<Context, "actor">,
): boolean {
  return !samePerson(by, actor);
}

/** From when on a proposal has no effect, RFC 3339. */
export function endOfProposal({ at }: Pick<NonNullable<Drift["proposal"]>, "at">): string {
  return new Date(Date.parse(at) + limits.approvals.proposal_seconds * 1000).toISOString();
}
