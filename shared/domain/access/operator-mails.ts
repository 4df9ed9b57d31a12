import { dayOf, daysAfter } from "../../calendar.ts";
import { limits } from "../../limits.ts";
import { type Context, type Requirement, refuse } from "../kernel/decision.ts";
import type { MailsOfDay } from "../records/operator.ts";
import type { Tenant } from "../records/tenant.ts";

/** Counts after one more email: that of the operator, and the addition to the tenant with its requirements. */
interface OneMoreMail {
  readonly mails: MailsOfDay;
  readonly set: Readonly<Record<string, string | number>>;
  readonly add: Readonly<Record<string, number>>;
  readonly require: readonly Requirement[];
}

/**
 * Counts an email to an operator, who may be one that was removed and has the same address: each one that is asked for
 * counts, also where the pool sends none. Refused with the seconds until the next day in UTC.
 */
export function countMail(
  operator: { readonly mails?: MailsOfDay } | undefined,
  { operator_mail_day, operator_mails = 0 }: Pick<Tenant, "operator_mail_day" | "operator_mails">,
  { now }: Pick<Context, "now">,
): { readonly ok: true; readonly mail: OneMoreMail } | ReturnType<typeof refuse> {
  const { mails_per_day: ofOperator, brokerage_mails_per_day: ofBrokerage } = limits.operators;
  const day = dayOf(now);
  const sent = operator?.mails?.day === day ? operator.mails.count : 0;
  const isToday = operator_mail_day === day;
  const tooMany = (most: number, whom: string) => {
    const retry_after_seconds = Math.ceil((Date.parse(`${daysAfter(day, 1)}T00:00:00.000Z`) - Date.parse(now)) / 1000);
    const detail = `At most ${most} emails a day (UTC) are sent to ${whom}: invitations and resets of credentials.`;
    return refuse("rate_limit_exceeded", detail, { retry_after_seconds });
  };
  if (sent >= ofOperator) return tooMany(ofOperator, "an operator");
  if (isToday && operator_mails >= ofBrokerage) return tooMany(ofBrokerage, "the operators of a brokerage");
  const at = { attribute: "operator_mail_day", value: day };
  const mails = { day, count: sent + 1 };
  if (!isToday) {
    const set = { operator_mail_day: day, operator_mails: 1 };
    return { ok: true, mail: { mails, set, add: {}, require: [{ ...at, is: "not" }] } };
  }
  const below: Requirement = { attribute: "operator_mails", is: "below", value: ofBrokerage };
  return { ok: true, mail: { mails, set: {}, add: { operator_mails: 1 }, require: [{ ...at, is: "equal" }, below] } };
}
