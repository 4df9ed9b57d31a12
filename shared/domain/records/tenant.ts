import type { SettingsBody } from "../../schema/settings.ts";

/** Policies that are absent until they are set. */
type Later =
  | "name"
  | "transfer_mark_up_percent"
  | "credit_on_withdrawal"
  | "day_end"
  | "brokerage"
  | "approval_rules"
  | "proposed_approval_rules"
  | "proposed_four_eyes";

/** Counts outside of the version. */
export type Counted = "applications" | "operators" | "active_owners";

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
  /** Absent until it is set: midnight UTC. */
  readonly day_end?: SettingsBody["day_end"];
  /** Texts of the letterhead that are set; absent until one is. */
  readonly brokerage?: Partial<SettingsBody["brokerage"]>;
}
