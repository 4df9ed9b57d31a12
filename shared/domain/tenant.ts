import { defaultCurrencies } from "../currencies.ts";
import type { SettingsBody, UpdateSettings } from "../schema/settings.ts";
import { amendFourEyes, amendRules } from "./access/approval-rules.ts";
import { defaultRetailTerms } from "./account.ts";
import { type Context, type Decision, later, unchanged } from "./decision.ts";
import { sameValue } from "./equality.ts";
import type { CreditPolicy } from "./internal-money/credit-lots.ts";

/** Policies that are absent until they are set. */
type Later =
  | "name"
  | "transfer_mark_up_percent"
  | "credit_on_withdrawal"
  | "approval_rules"
  | "proposed_approval_rules"
  | "proposed_four_eyes";

/** Counts outside of the version. */
type Counted = "applications" | "operators" | "active_owners";

/** A brokerage with the policies that its decisions follow. */
export interface Tenant extends Omit<SettingsBody, "object" | "tenant_id" | Later | "_links"> {
  readonly id: string;
  /** Applications that are not revoked; counted outside of the version. */
  readonly applications: number;
  /** Operators that were not removed; counted outside of the version. */
  readonly operators: number;
  /** Operators with the role of an owner who are active; counted likewise. */
  readonly active_owners: number;
  /** Emails to operators of the day that is named, in UTC; counted likewise. */
  readonly operator_mail_day?: string;
  readonly operator_mails?: number;
  /** Absent until it is set. */
  readonly name?: string;
  /** Absent until it is set; see {@link markUpOf}. */
  readonly transfer_mark_up_percent?: string;
  /** Absent until there are some. */
  readonly approval_rules?: SettingsBody["approval_rules"];
  /** Rules that one owner proposed and another one has to accept; null where there are none any more. */
  readonly proposed_approval_rules?: SettingsBody["proposed_approval_rules"];
  /** A change that one owner proposed, likewise. */
  readonly proposed_four_eyes?: SettingsBody["proposed_four_eyes"];
  /** Absent until it is set: `keep`. */
  readonly credit_on_withdrawal?: SettingsBody["credit_on_withdrawal"];
}

/** The mark-up of transfers between currencies, in percent. */
export function markUpOf({ transfer_mark_up_percent = "0.50" }: Tenant): string {
  return transfer_mark_up_percent;
}

/** Effect of a withdrawal on credit; undefined where it keeps all of it. */
export function creditPolicyOf({ credit_on_withdrawal: policy }: Tenant): CreditPolicy | undefined {
  return policy === "keep" ? undefined : policy;
}

/** The policies of a tenant that has set none. */
const defaults: Omit<Tenant, "id" | Counted | "created_at" | "updated_at" | "version"> = {
  require_verified_client: "none",
  four_eyes: false,
  currencies: [...defaultCurrencies],
  default_leverage: 100,
  ...defaultRetailTerms,
  transaction_expiry_days: 7,
};

/** A new tenant with the default policies, and neither applications nor operators. */
export function draftTenant(id: string, now: string): Tenant {
  const counts = { applications: 0, operators: 0, active_owners: 0 };
  return { id, ...defaults, ...counts, created_at: now, updated_at: now, version: 1 };
}

/** The policies as `GET /settings` shows them. */
export function settingsBody(tenant: Tenant): SettingsBody {
  const { id, applications: _applications, operators: _operators, active_owners: _owners, ...others } = tenant;
  const { operator_mail_day: _day, operator_mails: _mails, ...policies } = others;
  return {
    object: "settings",
    tenant_id: id,
    ...policies,
    name: tenant.name ?? null,
    transfer_mark_up_percent: markUpOf(tenant),
    credit_on_withdrawal: tenant.credit_on_withdrawal ?? "keep",
    approval_rules: tenant.approval_rules ?? [],
    proposed_approval_rules: tenant.proposed_approval_rules ?? null,
    proposed_four_eyes: tenant.proposed_four_eyes ?? null,
    _links: { self: { href: "/v2/settings" } },
  };
}

/** The mark-up that a patch sets, with two digits; nothing where it is that already. */
function markUpIn(tenant: Tenant, given: string | undefined) {
  const percent = given === undefined ? markUpOf(tenant) : Number(given).toFixed(2);
  return percent === markUpOf(tenant) ? {} : { transfer_mark_up_percent: percent };
}

/** The rules after a patch; nothing where a brokerage without rules stays without. */
function rulesIn(tenant: Tenant, rules: Pick<Tenant, "approval_rules" | "proposed_approval_rules"> | undefined) {
  const { approval_rules, proposed_approval_rules } = rules ?? {};
  const none = approval_rules?.length === 0 && proposed_approval_rules == null;
  return rules === undefined || (none && tenant.approval_rules === undefined) ? {} : rules;
}

/** Decides `PATCH /settings`. A patch that says what is already so changes nothing. */
export function amendSettings(tenant: Tenant, patch: UpdateSettings, context: Context): Decision<Tenant> {
  const { transfer_mark_up_percent: markUp, credit_on_withdrawal: credit, approval_rules: rules, ...others } = patch;
  const ruled = rules === undefined ? undefined : amendRules(tenant, rules, context, sameValue);
  if (ruled?.ok === false) return ruled;
  const eyes = patch.four_eyes === undefined ? undefined : amendFourEyes(tenant, patch.four_eyes, context);
  if (eyes?.ok === false) return eyes;
  const policy =
    credit === undefined || (credit === "keep" && tenant.credit_on_withdrawal === undefined)
      ? {}
      : { credit_on_withdrawal: credit };
  const { min_stop_out_retail: stopOut } = patch;
  const currencies = patch.currencies === undefined ? tenant.currencies : [...new Set(patch.currencies)];
  const merged = {
    ...tenant,
    ...others,
    ...markUpIn(tenant, markUp),
    ...policy,
    ...rulesIn(tenant, ruled?.rules),
    ...eyes?.policy,
    ...(stopOut === undefined ? {} : { min_stop_out_retail: Number(stopOut).toFixed(2) }),
    currencies,
  } as Tenant;
  if (sameValue(merged, tenant)) return unchanged(tenant);
  const after = { ...merged, updated_at: later(tenant.updated_at, context.now), version: tenant.version + 1 };
  return { ok: true, result: after, changes: [{ op: "update", entity: "tenant", before: tenant, after }], events: [] };
}
