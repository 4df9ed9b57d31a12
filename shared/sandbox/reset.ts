import type { UniqueKind } from "../domain/kernel/decision.ts";
import { controlAccounts } from "../domain/records/ledger.ts";
import type { TradingSymbol } from "../domain/records/symbol.ts";
import { afterPass, isBefore, monthsUntil, type Reset, withAccounts } from "../domain/sandbox/reset.ts";
import { seedQuotes, seedSymbols } from "../domain/sandbox/seed.ts";
import { entriesOf } from "../domain/trading/exposure-changes.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso, nowMs } from "../runtime/clock.ts";
import { timePart } from "../runtime/ids.ts";
import { causeOf, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import type { RemovedKind } from "../schema/reset.ts";
import { systemContext } from "../table/context.ts";
import { isDue, type SweepResult, sweepItems } from "../table/due.ts";
import {
  accounts,
  balances,
  clients,
  commands,
  contras,
  driftPositions,
  drifts,
  exposures,
  feedRejects,
  feedSources,
  findables,
  type Key,
  ledgers,
  orders,
  outboxes,
  outboxParts,
  parkedOutboxes,
  priceWalks,
  publishTries,
  pulses,
  quotes,
  reconciliations,
  resets,
  reviews,
  risks,
  snapshotHeads,
  snapshots,
  sumCursors,
  sums,
  symbols,
  trades,
  transactions,
  transferQuotes,
  ulidOf,
  uniques,
  unjoinedLegs,
} from "../table/entities.ts";
import type { Condition } from "../table/expression.ts";
import { changeItem, putItem } from "../table/items.ts";
import { keyIn } from "../table/partition.ts";
import { findAll, readAll, readKeys } from "../table/store.ts";
import { readItem } from "../table/table.ts";
import { indexes } from "../table/table-shape.ts";
import { transact } from "../table/transact.ts";
import { typeTag, updateItem } from "../table/write.ts";
import { OutOfTime, Walk } from "./erase.ts";

const { reset_parallel: parallel, reset_settles_seconds: settleSeconds } = limits.sandbox;

const markers: readonly UniqueKind[] = [
  "client_email",
  "client_external_id",
  "account_number",
  "platform_login",
  "transaction_external_id",
  "provider_reference",
  "source_name",
  "source_position",
  "source_order",
  "source_operation",
  "command_lane",
];

const orderStates = ["pending", "filled", "cancelled", "expired", "rejected"] as const;

/** Owner of a marker, by the prefix of the identifier. */
const owners: Readonly<Record<string, (tenant: string, id: string) => Key>> = {
  cli: clients.key,
  acc: accounts.key,
  txn: transactions.key,
  src: feedSources.key,
  cmd: commands.key,
  trd: trades.key,
  ord: orders.key,
};

/** Whether an item belongs to a client who was there before the reset began. */
function isOld({ reset }: Walk, item: Readonly<Record<string, unknown>>): boolean {
  return isBefore(String(item["client_id"]), reset.id);
}

/** Clients first: no account can be made under one who is gone. */
async function removeClients(walk: Walk): Promise<void> {
  for await (const page of walk.pages(clients.all(walk.tenant), indexes.list)) {
    const old = page.filter((item) => isBefore(String(item["id"]), walk.reset.id));
    // The quote of a client, and what finds the client, are found by the client, so they go first.
    const nextTo = [transferQuotes.key, findables.namesKey, findables.phoneKey];
    const keys = old.flatMap((item) => nextTo.map((key) => key(walk.tenant, String(item["id"]))));
    await walk.remove("other_items", keys);
    for (const { id } of old) await removeAll(walk, reviews.partition(walk.tenant, String(id)));
    await walk.remove("clients", old.map(keyIn));
  }
}

async function removeAccounts(walk: Walk): Promise<void> {
  for await (const page of walk.pages(accounts.all(walk.tenant), indexes.list)) {
    const old = page.filter((item) => isOld(walk, item));
    const noted = withAccounts(walk.reset, old as unknown as readonly { currency: string; created_at: string }[]);
    if (noted !== walk.reset) {
      await transact([updateItem(resets, walk.reset, noted)]);
      walk.reset = noted;
    }
    await inParallel(parallel, old, (item) => removeAccount(walk, String(item["id"])));
  }
}

/** Items that the walk through an account's partition keeps: the account and its risk have steps of their own. */
const kept: ReadonlySet<string> = new Set(
  [accounts, outboxes, outboxParts, parkedOutboxes, publishTries, risks].map(({ et }) => et),
);

/**
 * The money first: every posting, hold and trade writes it, so none can come after. The account itself comes last,
 * because the rest is found by it.
 */
async function removeAccount(walk: Walk, id: string): Promise<void> {
  const { tenant } = walk;
  await walk.remove("other_items", [balances.key(tenant, id)]);
  await removeRisk(walk, id);
  const account = accounts.key(tenant, id);
  for await (const page of walk.pages(account.pk)) {
    // Events that are not published yet are: the log of events stays, and ends with them.
    const others = page.filter(({ et }) => !kept.has(String(et)));
    await walk.remove("other_items", others.map(keyIn));
  }
  for (const partition of [ledgers.partition(tenant, id), unjoinedLegs.partition(tenant, id)]) {
    await removeAll(walk, partition);
  }
  await walk.remove("accounts", [account]);
}

async function removeAll(walk: Walk, partition: string): Promise<void> {
  for await (const page of walk.pages(partition)) await walk.remove("other_items", page.map(keyIn));
}

/** The risk of an account, after the entries that it says the exposure index has of it. */
async function removeRisk(walk: Walk, account_id: string): Promise<void> {
  const { tenant } = walk;
  const key = risks.key(tenant, account_id);
  for (;;) {
    const [found] = await readAll(risks, [key]);
    if (found === undefined) return;
    const entries = found.triggers.flatMap((trigger) => entriesOf({ tenant_id: tenant, id: account_id }, trigger));
    await walk.remove("other_items", entries.map(exposures.keyOf));
    if (await walk.removeIf(key, "version", found.version)) return;
  }
}

/** Items in a list of the tenant of clients who were there before. */
async function removeListed(walk: Walk, kind: RemovedKind, partition: string): Promise<void> {
  for await (const page of walk.pages(partition, indexes.list)) {
    await walk.remove(kind, page.filter((item) => isOld(walk, item)).map(keyIn));
  }
}

/** Results of single deals are kept by the name of their source, which no other gets, and expire by themselves. */
async function removeSources(walk: Walk): Promise<void> {
  const { tenant } = walk;
  for await (const page of walk.pages(feedSources.all(tenant), indexes.list)) {
    const ids = page.map((item) => String(item["id"])).filter((id) => isBefore(id, walk.reset.id));
    const keys = ids.map((id) => feedSources.key(tenant, id));
    for (const source of await findAll(feedSources, keys)) {
      for await (const rejects of walk.pages(feedRejects.partition(tenant, source.id))) {
        await walk.remove("other_items", rejects.map(keyIn));
      }
      for await (const issued of walk.pages(commands.ofSource(tenant, source.id), indexes.list)) {
        await walk.remove("other_items", issued.map(keyIn));
      }
      await removeSnapshots(walk, source.id);
      await walk.remove("other_items", [pulses.key(tenant, source.name)]);
      await walk.remove("feed_sources", [feedSources.keyOf(source)]);
    }
  }
}

/** Snapshots of a source, and their differences. */
async function removeSnapshots(walk: Walk, sourceId: string): Promise<void> {
  const { tenant } = walk;
  for await (const page of walk.pages(snapshots.ofSource(tenant, sourceId), indexes.list)) {
    for (const { pk } of page.map(keyIn)) {
      for await (const parts of walk.pages(pk)) await walk.remove("other_items", parts.map(keyIn));
    }
  }
  for (const partition of reconciliations.partitions(tenant, sourceId)) {
    for await (const page of walk.pages(partition)) await walk.remove("other_items", page.map(keyIn));
  }
  for await (const page of walk.pages(drifts.all(tenant), indexes.list)) {
    const keys = page.map(keyIn);
    const own = (await findAll(drifts, keys)).filter(({ source_id }) => source_id === sourceId);
    const held = own.filter(({ positions_digest }) => positions_digest !== undefined);
    const positions = held.map(({ id }) => driftPositions.key(tenant, id));
    await walk.remove("other_items", positions);
    await walk.remove("other_items", own.map(drifts.keyOf));
  }
  await walk.remove("other_items", [snapshotHeads.key(tenant, sourceId)]);
}

/** The other side of postings on accounts that are gone. */
async function removeContras(walk: Walk): Promise<void> {
  const { tenant, reset } = walk;
  if (reset.since === null) return;
  const partitions = monthsUntil(reset.since, nowIso()).flatMap((month) =>
    reset.currencies.flatMap((currency) =>
      controlAccounts.flatMap((control) => contras.partitions(tenant, control, currency, month)),
    ),
  );
  await inParallel(parallel, partitions, async (partition) => {
    for await (const page of walk.pages(partition)) {
      const gone = await missing(page.map((item) => accounts.key(tenant, String(item["account_id"]))));
      await walk.remove("other_items", page.filter((_, place) => gone[place]).map(keyIn));
    }
  });
}

/** Says of each of these items whether it is missing. */
async function missing(keys: readonly Key[]): Promise<boolean[]> {
  const distinct = new Map(keys.map((key) => [`${key.pk} ${key.sk}`, key]));
  const found = await readKeys([...distinct.values()]);
  const names = [...distinct.keys()];
  const there = new Set(names.filter((_, place) => found[place] !== undefined));
  return keys.map(({ pk, sk }) => !there.has(`${pk} ${sk}`));
}

/**
 * A taken marker is free again once its owner is gone. A marker may be seen before the owner that is written with it,
 * so a young one without an owner is looked at another time.
 */
async function releaseMarkers(walk: Walk): Promise<void> {
  const { tenant, reset } = walk;
  const settled = timePart(nowMs() - delayMs(settleSeconds));
  for (const kind of markers) {
    for await (const page of walk.pages(uniques.partition(tenant, kind))) {
      const ids = page.map((item) => String(item["owner_id"]));
      const gone = await missing(ids.map((id) => ownerKey(tenant, id)));
      await inParallel(parallel, page, async (item, place) => {
        const owner = ids[place] ?? "";
        if (gone[place] !== true) return;
        if (isBefore(owner, reset.id) || owner.slice(4, 14) < settled)
          await walk.removeIf(keyIn(item), "owner_id", owner);
        else walk.left = true;
      });
    }
  }
}

function ownerKey(tenant: string, id: string): Key {
  const keyOf = owners[id.slice(0, 3)];
  if (keyOf === undefined) throw new Error(`The item ${id} has no known place.`);
  return keyOf(tenant, id);
}

/** Brings the market back to what it was at the beginning: each symbol once, by its age. */
async function restoreMarket(walk: Walk): Promise<void> {
  const { tenant, reset } = walk;
  for await (const page of walk.pages(priceWalks.partition(tenant))) {
    const begun = page.filter((item) => String(item["created_at"]) < reset.created_at);
    await walk.remove("other_items", begun.map(keyIn));
  }
  // A step, or a price that somebody sets, may be under way: what comes back has the last word.
  if (walk.beganAt < reset.settled_at) return;
  const now = nowIso();
  const seed = new Map(seedSymbols(tenant, now).map((symbol) => [symbol.symbol, symbol]));
  const known = new Map<string, TradingSymbol>();
  for await (const page of walk.pages(symbols.partition(tenant))) {
    for (const item of page) {
      const symbol = readItem<TradingSymbol>(item);
      known.set(symbol.symbol, symbol);
    }
  }
  const old = [...known.values()].filter(({ created_at }) => created_at < reset.created_at);
  const foreign = old.filter(({ symbol }) => !seed.has(symbol));
  // The price first: it is found by its symbol.
  await walk.remove(
    "other_items",
    foreign.map(({ symbol }) => quotes.key(tenant, symbol)),
  );
  await walk.remove("other_items", foreign.map(symbols.keyOf));
  // Accounts that are newer than the reset may wait in any shard of what a quote said before.
  const kept = { tenant_id: tenant, exposure_shards: limits.trading.exposure_shards };
  const prices = new Map(seedQuotes(now).map((quote) => [quote.symbol, { ...quote, ...kept }]));
  const due = [...seed.values()].filter(
    ({ symbol }) => !known.has(symbol) || old.some((each) => each.symbol === symbol),
  );
  await inParallel(parallel, due, async (symbol) => {
    const quote = prices.get(symbol.symbol);
    if (quote !== undefined) await putItem(quotes, quote);
    await putItem(symbols, symbol);
  });
}

/**
 * The sums begin again with the events of clients who came after the reset: under another key, so that nothing which
 * is still being added to those of before meets them.
 */
async function removeSums(walk: Walk): Promise<void> {
  const { tenant, reset } = walk;
  const since = ulidOf(reset.id).slice(0, 10);
  const isOlder = {
    any: [
      { attribute: "since", is: "absent" },
      { attribute: "since", is: "below", value: since },
    ],
  };
  const begun = { ...typeTag(sumCursors.et), tenant_id: tenant, since, summed: 0, wrote: [] };
  await changeItem(sumCursors.key(tenant), { set: begun, when: [isOlder as Condition] }, "refused");
  for await (const page of walk.pages(sums.partition(tenant))) {
    const old = page.map(keyIn).filter(({ sk }) => sk < sums.before(since));
    await walk.remove("other_items", old);
  }
}

async function walkThrough(walk: Walk): Promise<void> {
  const { tenant } = walk;
  await removeSums(walk);
  await removeClients(walk);
  await removeAccounts(walk);
  await removeListed(walk, "transactions", transactions.all(tenant));
  await removeListed(walk, "trades", trades.all(tenant));
  for (const status of orderStates) await removeListed(walk, "orders", orders.inStatus(tenant, status));
  await removeSources(walk);
  await removeContras(walk);
  await releaseMarkers(walk);
  await restoreMarket(walk);
}

/**
 * Walks through everything that a tenant had before its reset began and removes it. A run that does so again, or at the
 * same time, finds what is left; a reset that another worker carried on meanwhile is left to that one.
 */
async function carryOn(reset: Reset, hasTime: () => boolean): Promise<void> {
  const walk = new Walk(reset, hasTime);
  let whole = true;
  try {
    await walkThrough(walk);
  } catch (error) {
    if (!(error instanceof OutOfTime)) throw error;
    whole = false;
  }
  const { beganAt: began_at, removed, left } = walk;
  const context = systemContext(reset.tenant_id, "sandbox_reset");
  const after = afterPass(walk.reset, { began_at, whole, left, removed }, settleSeconds, context);
  await transact([updateItem(resets, walk.reset, after)]);
  log.info("A sandbox reset finished a pass.", { reset_id: reset.id, status: after.status, whole, ...removed });
}

/** Carries on the resets that are due. Returns how many walks came to an end, and how many could not. */
export function resetOverdue(hasTime: () => boolean): Promise<SweepResult> {
  return sweepItems("RESET", hasTime, {
    entity: resets,
    isDue,
    run: async (reset) => {
      await carryOn(reset, hasTime);
      return 1;
    },
    report: ({ id }, error) => log.error("A sandbox reset could not continue.", { reset_id: id, ...causeOf(error) }),
  });
}
