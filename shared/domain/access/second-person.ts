import { type Context, refuseScope, unchanged } from "../kernel/decision.ts";
import type { Account } from "../records/account.ts";
import type { Balance } from "../records/balance.ts";
import type { Decision } from "../records/change.ts";
import type { Tenant } from "../records/tenant.ts";
import { isOpen, isSecond, newProposal, type Proposal } from "./agreement.ts";
import { refuseSecond, strictestRule } from "./approval-rules.ts";
import type { Party } from "./person.ts";

/** The policies that say who must approve. */
type Policies = Pick<Tenant, "four_eyes" | "approval_rules">;

/** Whether a brokerage asks for a second person where one alone could go around its approvals. */
export function asksForTwo({ four_eyes, approval_rules = [] }: Policies): boolean {
  return four_eyes || approval_rules.length > 0;
}

/**
 * The proposal that waits for a second person; undefined where the second one agrees, who needs the scope to approve
 * and is an owner, or whom the strictest rule of now accepts.
 * @param same whether what is proposed already is what the request asks for
 */
export function agreedByTwo<P extends { readonly by: Party; readonly expires_at: string }>(
  proposed: P | null | undefined,
  same: (proposed: P) => boolean,
  tenant: Policies,
  context: Context,
): Decision<P | Proposal | undefined> {
  const known = isOpen(proposed, context) && same(proposed) ? proposed : undefined;
  if (known === undefined || !isSecond(known, context)) return unchanged(known ?? newProposal(context));
  const scope = "transactions:approve";
  if (!context.scopes.includes(scope)) return refuseScope(scope);
  // Of the roles that a rule may name, an owner alone holds the scopes of these requests.
  if (context.role === "owner") return unchanged(undefined);
  return refuseSecond(strictestRule(tenant), context) ?? unchanged(undefined);
}

/** Whether an account has anything that another link would move: money, positions or holds. */
function hasAnything({ balance_minor, credit_minor, held_minor, aside_minor = 0n, positions }: Balance): boolean {
  return positions > 0 || [balance_minor, credit_minor, held_minor, aside_minor].some((minor) => minor !== 0n);
}

/**
 * The account as a patch of its link leaves it: linked otherwise, or with the proposal that waits for a second person.
 * A fresh account is linked by one.
 */
export function agreeOnLink(
  { account, balance }: { readonly account: Account; readonly balance: Balance },
  wanted: Account,
  tenant: Policies | undefined,
  context: Context,
): Decision<Account> {
  const { proposed_link, ...linked } = wanted;
  if (tenant === undefined || !asksForTwo(tenant) || !hasAnything(balance)) return unchanged(linked);
  const [source_id, platform_login] = [wanted.source_id ?? null, wanted.platform_login];
  const isSame = (known: NonNullable<typeof proposed_link>) =>
    known.source_id === source_id && known.platform_login === platform_login;
  const agreed = agreedByTwo(proposed_link, isSame, tenant, context);
  if (!agreed.ok) return agreed;
  if (agreed.result === undefined) return unchanged(linked);
  const { by, at, expires_at } = agreed.result;
  const { source_id: _source, ...before } = linked;
  return unchanged({
    ...before,
    ...(account.source_id === undefined ? {} : { source_id: account.source_id }),
    platform: account.platform,
    platform_login: account.platform_login,
    proposed_link: { source_id, platform_login, by, at, expires_at },
  } as Account);
}
