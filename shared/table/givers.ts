import { approversOf, type Givers } from "../domain/money/givers.ts";
import type { Application } from "../domain/records/application.ts";
import type { Operator } from "../domain/records/operator.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import { applications, type Key, operators } from "./entities.ts";
import { readKeys } from "./store.ts";

/** Those who approved these transactions, as they are now: operators who were removed stay, and so do applications. */
export async function giversOf(
  tenant: string,
  approved: readonly (Transaction | undefined)[],
  read: (keys: readonly Key[]) => Promise<readonly unknown[]> = readKeys,
): Promise<Givers> {
  const actors = approved.flatMap((transaction) => (transaction === undefined ? [] : approversOf(transaction)));
  const own = [...new Map(actors.map((actor) => [actor.id, actor])).values()];
  if (own.length === 0) return new Map();
  const keyOf = ({ type, id }: (typeof own)[number]) =>
    (type === "operator" ? operators : applications).key(tenant, id);
  const found = await read(own.map(keyOf));
  return new Map(
    own.map(({ id, type }, place) => [
      id,
      type === "operator"
        ? operatorGiver(found[place] as Operator | undefined)
        : applicationGiver(found[place] as Application | undefined),
    ]),
  );
}

function operatorGiver(operator: Operator | undefined) {
  return operator === undefined ? { active: false } : { active: operator.status === "active", role: operator.role };
}

function applicationGiver(application: Application | undefined) {
  return { active: application?.status !== "revoked" };
}
