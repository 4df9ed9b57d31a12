import type { Schemas } from "../../api/types.ts";
import { grouped, inWords } from "../../parts/format.ts";

/** An approval rule of the settings. */
export type Rule = Schemas["ApprovalRuleValue"];

/** A rule in words: `Withdrawal over 5,000.00 USD: 2 approvers of finance or owner`. */
export function ruleText({ kind, over, approvers, roles }: Rule): string {
  const amounts = Object.entries(over).map(([currency, amount]) => `${grouped(String(amount))} ${currency}`);
  const who = roles === undefined || roles.length === 0 ? "" : ` of ${roles.join(" or ")}`;
  const count = approvers === 1 ? "1 approver" : `${approvers} approvers`;
  const above = amounts.length === 0 ? "of any amount" : `over ${amounts.join(", ")}`;
  return `${inWords(kind)} ${above}: ${count}${who}`;
}
