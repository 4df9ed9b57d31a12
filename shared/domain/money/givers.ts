import type { Role } from "../../roles.ts";
import { type Party, samePerson } from "../access/person.ts";
import type { Transaction } from "../records/transaction.ts";

/** One who gave an approval, as they are now. */
interface Giver {
  /** Whether they are still let in: an operator who is active, an application that was not revoked. */
  readonly active: boolean;
  /** The role of an operator; absent for an application. */
  readonly role?: Role;
}

/** Those who gave the approvals of a transaction, by their identifiers. */
export type Givers = ReadonlyMap<string, Giver>;

/** Approvers of a transaction, each once, the first one first. */
export function approversOf({ approvals = [], approved_by }: Pick<Transaction, "approvals" | "approved_by">): Party[] {
  const given = approvals.map(({ actor }) => actor);
  const isMore = approved_by != null && !given.some((actor) => samePerson(actor, approved_by));
  return isMore ? [...given, approved_by] : given;
}
