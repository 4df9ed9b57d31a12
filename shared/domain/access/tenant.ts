import { defaultCurrencies } from "../../currencies.ts";
import type { SettingsBody, UpdateSettings } from "../../schema/settings.ts";
import { type Context, later, unchanged } from "../kernel/decision.ts";
import { sameValue } from "../kernel/equality.ts";
import type { Decision } from "../records/change.ts";
import type { CreditPolicy } from "../records/ledger.ts";
import type { Counted, Tenant } from "../records/tenant.ts";
import { amendFourEyes, amendRules } from "./approval-rules.ts";
import { defaultRetailTerms } from "./retail-terms.ts";

/** The mark-up of transfers between currencies, in percent. */
export function markUpOf({ transfer_mark_up_percent = "0.50" }: Tenant): string {
  return transfer_mark_up_percent;
}

/** Effect of a withdrawal on credit; undefined where it keeps all of it. */
export function creditPolicyOf({ credit_on_withdrawal: policy }: Tenant): CreditPolicy | undefined {
  return policy === "keep" ? undefined : policy;
}

/** When the days of a brokerage end: at midnight UTC until it says otherwise. */
export function dayEndOf({ day_end }: Partial<Pick<Tenant, "day_end">>): SettingsBody["day_end"] {
  return day_end ?? { time: "00:00", zone: "UTC" };
}

/** The letterhead of a brokerage; null where a text is not set. */
export function letterheadOf({ brokerage }: Partial<Pick<Tenant, "brokerage">>): SettingsBody["brokerage"] {
  const none = { name: null, address: null, registration_number: null, licence: null };
  return { ...none, contact: null, website: null, ...brokerage };
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
    day_end: dayEndOf(tenant),
    brokerage: letterheadOf(tenant),
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
  const { transfer_mark_up_percent: markUp, credit_on_withdrawal: credit, approval_rules: rules, ...more } = patch;
  const { day_end: end = dayEndOf(tenant), brokerage, ...others } = more;
  const texts = Object.entries(brokerage ?? {}).map(([name, text]) => [name, text === "" ? null : text]);
  const letterhead: SettingsBody["brokerage"] = { ...letterheadOf(tenant), ...Object.fromEntries(texts) };
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
    ...(sameValue(end, dayEndOf(tenant)) ? {} : { day_end: end }),
    ...(sameValue(letterhead, letterheadOf(tenant)) ? {} : { brokerage: letterhead }),
    ...rulesIn(tenant, ruled?.rules),
    ...eyes?.policy,
    ...(stopOut === undefined ? {} : { min_stop_out_retail: Number(stopOut).toFixed(2) }),
    currencies,
  } as Tenant;
  if (sameValue(merged, tenant)) return unchanged(tenant);
  const after = { ...merged, updated_at: later(tenant.updated_at, context.now), version: tenant.version + 1 };
  return { ok: true, result: after, changes: [{ op: "update", entity: "tenant", before: tenant, after }], events: [] };
}
