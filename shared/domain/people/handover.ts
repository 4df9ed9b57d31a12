import type { OperatorHandoverBody } from "../../schema/people/handover.ts";
import type { Application } from "../application.ts";
import type { Tenant } from "../tenant.ts";
import type { Transaction } from "../transaction.ts";
import { isOpen } from "./agreement.ts";
import type { Operator } from "./operator.ts";
import { type Party, peopleOf } from "./person.ts";

/** What a brokerage has that a person who leaves may stand behind. */
export interface HandoverSources {
  /** Those that were not revoked. */
  readonly applications: readonly Application[];
  readonly operators: readonly Operator[];
  readonly tenant: Tenant;
  /** Undecided ones. */
  readonly transactions: readonly Transaction[];
  readonly more_transactions: boolean;
}

/**
 * What an operator may still act through, and what of theirs is undecided. An application stays when its maker leaves,
 * since an integration must not end with a person; it is listed until its secret was rotated by somebody else, or it
 * was revoked.
 */
export function handoverBody(operator: Operator, sources: HandoverSources, now: string): OperatorHandoverBody {
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
      if (!isOpen(proposal, { now }) || !isTheirs(proposal.by)) return [];
      const { at, expires_at } = proposal;
      return [{ ...place, at, expires_at }];
    }),
    transactions: sources.transactions.flatMap(({ id, kind, status, account_id, created_by, approvals = [] }) => {
      const part = isTheirs(created_by)
        ? "made"
        : approvals.some(({ actor }) => isTheirs(actor))
          ? "approved"
          : undefined;
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

function proposalsIn({ operators, tenant }: HandoverSources) {
  const { id, proposed_approval_rules, proposed_four_eyes } = tenant;
  const settings = { resource_type: "settings", resource_id: id } as const;
  return [
    ...operators.map((each) => ({
      ...({ resource_type: "operator", resource_id: each.id, change: "proposed_change" } as const),
      proposal: each.proposed_change,
    })),
    { ...settings, change: "proposed_approval_rules" as const, proposal: proposed_approval_rules },
    { ...settings, change: "proposed_four_eyes" as const, proposal: proposed_four_eyes },
  ];
}
