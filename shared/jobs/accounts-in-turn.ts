import type { Job } from "../domain/records/job.ts";
import { limits } from "../limits.ts";
import { timePart } from "../runtime/ids.ts";
import { inParallel } from "../runtime/parallel.ts";
import { timeOfId } from "../table/entities/keys.ts";
import { accounts, ulidOf } from "../table/entities.ts";
import { accountIdsOf } from "../table/owners.ts";
import { readPage } from "../table/partition.ts";
import { indexes } from "../table/table-shape.ts";
import { type ExportPage, parameterOf } from "./export-type.ts";

/** A part of what an account has, and the place in it where the next read goes on; undefined at its end. */
export interface AccountPart {
  readonly rows: readonly object[];
  readonly inside?: string | undefined;
  readonly unreadable?: number;
}

/**
 * Reads accounts of a job in the order of their identifiers, some at a time, each with `readOne`. One that has more
 * than a read shows is read on alone, and those after it again. A position is the last account that was read whole, and
 * behind a `|` each the one that was not with the place in it.
 */
export async function readAccounts(
  job: Job,
  position: string | null,
  readOne: (id: string, inside: string | undefined) => Promise<AccountPart>,
): Promise<ExportPage> {
  const [done = "", begun, ...places] = (position ?? "").split("|");
  const ids = begun === undefined ? await accountsAfter(job, done) : [begun];
  const parts: AccountPart[] = [];
  await inParallel(limits.jobs.ledgers_parallel, ids, async (id, place) => {
    parts[place] = await readOne(id, begun === undefined ? undefined : places.join("|"));
  });
  const cut = parts.findIndex((part) => part.inside !== undefined);
  const whole = cut === -1 ? parts : parts.slice(0, cut);
  const last = ulidOf(ids[whole.length - 1] ?? `_${done}`);
  const rest = cut === -1 ? undefined : parts[cut];
  const used = rest === undefined ? whole : [...whole, rest];
  const isEnd = ids.length === 0;
  const [first, at, end] = [timeOfId(job.tenant_id), timeOfId(`_${last}`), job.as_of].map(Date.parse);
  return {
    rows: used.flatMap(({ rows }) => rows),
    next: isEnd ? null : rest === undefined ? last : [last, ids[cut], rest.inside].join("|"),
    share: isEnd ? 1 : ((at ?? 0) - (first ?? 0)) / Math.max(1, (end ?? 0) - (first ?? 0)),
    unreadable: used.reduce((sum, { unreadable = 0 }) => sum + unreadable, 0),
  };
}

/** Identifiers of the next accounts of a job after a ULID. */
async function accountsAfter(job: Job, done: string): Promise<readonly string[]> {
  const { tenant_id: tenant } = job;
  const most = limits.jobs.ledgers_parallel;
  const [account, client] = [parameterOf(job, "account_id"), parameterOf(job, "client_id")];
  if (account !== undefined || client !== undefined) {
    const own = client === undefined ? [account ?? ""] : await accountIdsOf(tenant, client);
    const asked = own.filter((id) => (account === undefined || id === account) && ulidOf(id) > done);
    return asked.toSorted().slice(0, most);
  }
  // Accounts that are newer than the job have nothing that is asked for.
  const to = timePart(Date.parse(job.as_of));
  if (done >= to) return [];
  const query = { index: indexes.list, attributes: ["pk", "sk", indexes.list.sort], to, page_size: most + 1 };
  const { items } = await readPage(accounts.all(tenant), { ...query, from: done === "" ? undefined : done });
  const found = items.map((item) => String(item[indexes.list.sort])).filter((ulid) => ulid > done);
  return found.slice(0, most).map((ulid) => `acc_${ulid}`);
}
