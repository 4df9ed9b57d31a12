import { scopesOf } from "../../roles.ts";
import type { OperatorHandoverBody } from "../../schema/people/handover.ts";
import type { Scope } from "../../schema/scope.ts";
import type { Context } from "../kernel/decision.ts";
import { isNeeded } from "../money/approval-queue.ts";
import type { Givers } from "../money/givers.ts";
import type { Account } from "../records/account.ts";
import type { Application } from "../records/application.ts";
import type { Drift } from "../records/drift.ts";
import type { FeedSource } from "../records/feed-source.ts";
import type { Operator } from "../records/operator.ts";
import type { Tenant } from "../records/tenant.ts";
import type { Transaction } from "../records/transaction.ts";
import { endOfProposal, isOpen } from "./agreement.ts";
import { refuseSecond, strictestRule } from "./approval-rules.ts";
import { type Party, peopleOf, samePerson } from "./person.ts";

/** Everything of a brokerage that a person who leaves may stand behind. */
export interface HandoverSources {
  /** Those that were not revoked. */
  readonly applications: readonly Application[];
  readonly operators: readonly Operator[];
  readonly tenant: Tenant;
  /** Those whose link was proposed of late, and others. */
  readonly accounts: readonly Account[];
  readonly sources: readonly FeedSource[];
  /** Those with a proposal. */
  readonly drifts: readonly Drift[];
  /** Undecided ones. */
  readonly transactions: readonly Transaction[];
  readonly more_transactions: boolean;
  /** Their approvers. */
  readonly givers: Givers;
}

/**
 * Everything that an operator may still act through, and their undecided matters or those that no one else can decide.
 * An application stays when its maker leaves, since an integration must not end with a person; it is listed until its
 * secret was rotated by somebody else, or it was revoked.
 */
export function handoverBody(
  operator: Operator,
  sources: HandoverSources,
  context: Pick<Context, "now" | "environment">,
): OperatorHandoverBody {
  const { now } = context;
  const people = [operator.id, ...(operator.former_ids ?? [])];
  const isTheirs = (party: Party) => peopleOf(party).some((id) => people.includes(id));
  return {
    object: "operator_handover",
    operator_id: operator.id,
    status: operator.status,
    applications: sources.applications.flatMap((application) => {
      const knows = knownSecret(application, people, now);
      if (knows === undefined) return [];
      const { id, name, scopes, secret_rotated_at } = application;
      return [{ id, name, scopes: [...scopes], knows, secret_rotated_at }];
    }),
    proposals: proposalsIn(sources).flatMap(({ proposal, ...place }) => {
      if (!isOpen(proposal, context)) return [];
      const { by, at, expires_at } = proposal;
      const needed = () => isOnlySecond(operator, { by, resource_type: place.resource_type }, sources, context);
      const part = isTheirs(by) ? "made" : needed() ? "needed" : undefined;
      return part === undefined ? [] : [{ ...place, part, at, expires_at } as const];
    }),
    transactions: sources.transactions.flatMap((transaction) => {
      const { id, kind, status, account_id, created_by, approvals = [] } = transaction;
      const approved = approvals.some(({ actor }) => isTheirs(actor));
      const needed = () => isNeeded(transaction, operator, { ...sources, ...context });
      const part = isTheirs(created_by) ? "made" : approved ? "approved" : needed() ? "needed" : undefined;
      return part === undefined ? [] : [{ id, kind, status, account_id, part } as const];
    }),
    more_transactions: sources.more_transactions,
    _links: { self: { href: `/v2/operators/${operator.id}/handover` } },
  };
}

/** The newest secret that works and that one of these people knows: who made the application knows its first one. */
export function knownSecret(application: Application, people: readonly string[], now: string) {
  const { status, secret_number, created_by, secret_shown_to = [], previous_secret_shown_to = [] } = application;
  if (status !== "active") return undefined;
  const makers = created_by ? peopleOf(created_by) : [];
  const knownBy = (ids: readonly string[]) => ids.some((id) => people.includes(id));
  if (knownBy(secret_number === 1 ? makers : secret_shown_to)) return "current_secret" as const;
  const { previous_secret_expires_at: until } = application;
  if (until === null || until <= now) return undefined;
  return knownBy(secret_number === 2 ? makers : previous_secret_shown_to) ? ("previous_secret" as const) : undefined;
}

type ProposalPlace = Pick<
  OperatorHandoverBody["proposals"][number],
  "resource_type" | "resource_id" | "source_id" | "change"
>;

/** Scopes of the second person who agrees to a change of one of these; an owner agrees to those of the brokerage. */
const agreeing: Readonly<Record<ProposalPlace["resource_type"], readonly Scope[]>> = {
  operator: ["operators:write"],
  settings: ["settings:write"],
  account: ["accounts:terms", "transactions:approve"],
  feed_source: ["feed:write", "transactions:approve"],
  drift: ["transactions:settle", "transactions:approve"],
};

/** Whether an operator could agree to what another one proposed, and no other active operator could. */
function isOnlySecond(
  operator: Operator,
  { by, resource_type }: { readonly by: Party; readonly resource_type: ProposalPlace["resource_type"] },
  { operators, tenant }: HandoverSources,
  { environment }: Pick<Context, "environment">,
): boolean {
  const could = ({ id, former_ids = [], role }: Operator) =>
    agreeing[resource_type].every((scope) => scopesOf(role, environment).includes(scope)) &&
    !samePerson(by, { type: "operator", id, operator_ids: former_ids }) &&
    (role === "owner" || refuseSecond(strictestRule(tenant), { role }) === undefined);
  const others = operators.filter(({ id, status }) => id !== operator.id && status === "active");
  return could(operator) && !others.some(could);
}

function proposalsIn({ operators, tenant, accounts, sources, drifts }: HandoverSources): readonly (ProposalPlace & {
  readonly proposal: { readonly by: Party; readonly at: string; readonly expires_at: string } | null | undefined;
})[] {
  const { id, proposed_approval_rules, proposed_four_eyes } = tenant;
  const settings = { resource_type: "settings", resource_id: id, source_id: null } as const;
  return [
    ...operators.map((each) => ({
      ...({ resource_type: "operator", resource_id: each.id, source_id: null, change: "proposed_change" } as const),
      proposal: each.proposed_change,
    })),
    { ...settings, change: "proposed_approval_rules" as const, proposal: proposed_approval_rules },
    { ...settings, change: "proposed_four_eyes" as const, proposal: proposed_four_eyes },
    ...accounts.map((each) => ({
      ...({ resource_type: "account", resource_id: each.id, source_id: null, change: "proposed_link" } as const),
      proposal: each.proposed_link,
    })),
    ...sources.map((each) => ({
      ...({ resource_type: "feed_source", resource_id: each.id, source_id: null } as const),
      change: "proposed_authoritative" as const,
      proposal: each.proposed_authoritative,
    })),
    ...drifts.map(({ id: resource_id, source_id, proposal }) => ({
      ...({ resource_type: "drift", resource_id, source_id, change: "proposal" } as const),
      proposal: proposal && { ...proposal, expires_at: endOfProposal(proposal) },
    })),
  ];
}
