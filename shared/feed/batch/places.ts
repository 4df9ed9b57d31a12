import { sourceLoginMarker } from "../../domain/accounts/open-account.ts";
import { tradesNeeded } from "../../domain/feed/apply.ts";
import type { ItemReading, ReadItem } from "../../domain/feed/batch.ts";
import { positionMarker } from "../../domain/feed/deals.ts";
import { orderMarker } from "../../domain/feed/mirror-order.ts";
import { operationMarker } from "../../domain/feed/operation-marker.ts";
import { operationMinor } from "../../domain/feed/platform-money.ts";
import { refuse } from "../../domain/kernel/decision.ts";
import type { Account } from "../../domain/records/account.ts";
import type { Balance } from "../../domain/records/balance.ts";
import type { Order } from "../../domain/records/order.ts";
import type { Position } from "../../domain/records/position.ts";
import type { Trade } from "../../domain/records/trade.ts";
import { limits } from "../../limits.ts";
import { inParallel } from "../../runtime/parallel.ts";
import { accounts, balances, clients, type Key, orders, trades, uniques } from "../../table/entities.ts";
import { identityOf, type Ref } from "../../table/store.ts";
import { readMarketWith } from "../../trading/market.ts";
import type { FeedRun, PlacedItem } from "../decisions.ts";
import { refsOf } from "../item-refs.ts";
import { nameOf } from "../operation-links.ts";
import { type BatchMemory, holderKeys, knownPositions, leadsTo, ledTo } from "./memory.ts";
import type { Lane } from "./together.ts";

/** The names by which an item tells its account. */
interface Names {
  readonly login: string | undefined;
  readonly position: string | undefined;
  /** The name that it gives to what is left of the position. */
  readonly remaining?: string | undefined;
  readonly order: string | undefined;
}

function namesOf(item: ReadItem): Names {
  if (item.type === "symbol") return { login: undefined, position: undefined, order: undefined };
  if (item.type === "swap" || item.type === "position_update") {
    return { login: undefined, position: item.data.position_id, order: undefined };
  }
  const login = item.data.platform_login;
  if (item.type === "order") return { login, position: undefined, order: item.data.order_id };
  if (item.type !== "execution") return { login, position: undefined, order: undefined };
  const remaining = item.data.action === "close" ? (item.data.remaining_position_id ?? undefined) : undefined;
  return { login, position: item.data.position_id, remaining, order: undefined };
}

/**
 * Finds the account of every item: by its login, by what an item before it in the batch said of the same position or
 * order, or by the trade or order that is known under its name. One without an account cannot be applied.
 */
export async function placeItems(
  run: FeedRun,
  memory: BatchMemory,
  readings: readonly ItemReading[],
): Promise<PlacedItem[]> {
  const known = await knownAccounts(run, memory, readings);
  return readings.map((reading) => {
    if (!reading.ok || reading.item.type === "symbol") return { reading, account_id: undefined };
    const { login, position, remaining, order } = namesOf(reading.item);
    const ways = [
      ["login", login],
      ["position", position],
      ["order", order],
    ] as const;
    const named = ways.flatMap(([kind, name]) => (name === undefined ? [] : [`${kind} ${name}`]));
    const account_id =
      login === undefined ? named.flatMap((name) => known.get(name) ?? [])[0] : known.get(`login ${login}`);
    if (account_id === undefined) return { reading: unplaced(reading, login), account_id };
    const led = remaining === undefined ? named : [...named, `position ${remaining}`];
    for (const name of led) if (!known.has(name)) known.set(name, account_id);
    return { reading, account_id };
  });
}

function unplaced(reading: ItemReading & { ok: true }, login: string | undefined): ItemReading {
  const { raw, dedup, content, item } = reading;
  const [code, member] =
    login !== undefined
      ? (["account_not_found", "platform_login"] as const)
      : item.type === "order"
        ? (["unknown_order", "order_id"] as const)
        : (["unknown_position", "position_id"] as const);
  const detail = "is not known";
  const errors = [{ pointer: `#/data/${member}`, code, detail }];
  const { refusal } = refuse(code, `Its ${member} is not known.`, { errors });
  return { raw, dedup, content, ok: false, refusal };
}

/** A thing that a source names, and who owns the name. */
interface Asked {
  readonly name: string;
  readonly key: Key;
}

/** Remembers what positions lead to that items named which were applied. */
export function rememberTrades({ tenant_id: tenant }: FeedRun, lanes: readonly Lane[]): void {
  for (const { items, results } of lanes) {
    for (const [place, { reading, account_id }] of items.entries()) {
      const trade = results[place]?.trade_id;
      const position = reading.ok ? namesOf(reading.item).position : undefined;
      if (trade === undefined || position === undefined || account_id === undefined) continue;
      leadsTo(tenant, `position ${position}`, [trades.key(tenant, trade), ...holderKeys(tenant, account_id)]);
    }
  }
}

/** How the items of a batch name their accounts. */
function askedBy({ tenant_id: tenant, source }: FeedRun, readings: readonly ItemReading[]): readonly Asked[] {
  const asked = new Map<string, Key>();
  for (const reading of readings) {
    if (!reading.ok) continue;
    const { login, position, order } = namesOf(reading.item);
    if (login !== undefined) {
      const key = (marker: string) => uniques.key(tenant, "platform_login", marker);
      asked.set(`login ${login}`, key(sourceLoginMarker(source.id, login)));
      asked.set(`unlinked login ${login}`, key(JSON.stringify([source.platform, login])));
    } else if (position !== undefined) {
      asked.set(`position ${position}`, uniques.key(tenant, "source_position", positionMarker(source, position)));
    } else if (order !== undefined) {
      asked.set(`order ${order}`, uniques.key(tenant, "source_order", orderMarker(source, order)));
    }
  }
  return [...asked].map(([name, key]) => ({ name, key }));
}

/** Accounts by `login <login>`, `position <id>` and `order <id>`, as far as they are known before the batch. */
async function knownAccounts(
  run: FeedRun,
  memory: BatchMemory,
  readings: readonly ItemReading[],
): Promise<Map<string, string>> {
  const { tenant_id: tenant } = run;
  const asked = askedBy(run, readings);
  const noted = readings.flatMap((reading) => (reading.ok ? keysOf(tenant, refsOf(run, reading)) : []));
  await memory.ahead([...asked.map(({ key }) => key), ...noted, ...guessed(tenant, readings)]);
  const owners = (await memory.items(asked.map(({ key }) => key))) as readonly Owner[];
  const found = new Map<string, string>();
  const later: Asked[] = [];
  for (const [place, { name }] of asked.entries()) {
    const owner = owners[place]?.owner_id;
    if (owner === undefined) continue;
    const login = /^(?:unlinked )?(login .*)$/s.exec(name)?.[1];
    if (login !== undefined) found.set(login, found.get(login) ?? owner);
    else later.push({ name, key: name.startsWith("order ") ? orders.key(tenant, owner) : trades.key(tenant, owner) });
  }
  const holders = [...found.values()].flatMap((id) => holderKeys(tenant, id));
  for (const [name, id] of found) leadsTo(tenant, name, holderKeys(tenant, id));
  const others = [...holders, ...(await tradeKeys(run, memory, readings))];
  await memory.ahead([...later.map(({ key }) => key), ...others]);
  const things = (await memory.items(later.map(({ key }) => key))) as (Trade | Order | undefined)[];
  for (const [place, { name }] of later.entries()) {
    const account = things[place]?.account_id;
    if (account !== undefined) found.set(name, account);
  }
  return found;
}

/** Earlier results for the names of these items: their trades and accounts with the clients of these. */
function guessed(tenant: string, readings: readonly ItemReading[]): Key[] {
  const names = readings.flatMap((reading) => {
    if (!reading.ok) return [];
    const { login, position } = namesOf(reading.item);
    return [`login ${login}`, `position ${position}`];
  });
  const direct = [...new Set(names)].flatMap((name) => ledTo(tenant, name));
  return [...direct, ...direct.flatMap((key) => ledTo(tenant, identityOf(key)))];
}

type Owner = { readonly owner_id: string } | undefined;

function keysOf(tenant: string, refs: Readonly<Record<string, Ref<unknown>>>): Key[] {
  return Object.values(refs).map((each) => each.keyIn(tenant));
}

/** The trades that positions of a batch stand for, as far as their claims are read. */
async function tradeKeys(run: FeedRun, memory: BatchMemory, readings: readonly ItemReading[]): Promise<Key[]> {
  const { tenant_id: tenant, source } = run;
  const names = readings.flatMap((reading) => (reading.ok ? (namesOf(reading.item).position ?? []) : []));
  const claims = names.map((name) => uniques.key(tenant, "source_position", positionMarker(source, name)));
  const owners = (await memory.items(claims)) as readonly Owner[];
  return owners.flatMap((owner) => (owner === undefined ? [] : [trades.key(tenant, owner.owner_id)]));
}

/**
 * Reads what decisions about these items depend on, the items of all accounts in common: the accounts with their money
 * and their risk, the positions that are not known by these, then the clients, the symbols and the newest prices.
 * Nothing is read twice. A decision that needs more than this reads it itself.
 */
export async function readAhead(run: FeedRun, memory: BatchMemory, items: readonly PlacedItem[]): Promise<void> {
  const { tenant_id: tenant, source } = run;
  const readings = items.map(({ reading }) => reading);
  const ids = [...new Set(items.flatMap(({ account_id }) => account_id ?? []))];
  const noted = readings.flatMap((reading) => (reading.ok ? keysOf(tenant, refsOf(run, reading)) : []));
  await memory.items([...ids.flatMap((id) => holderKeys(tenant, id)), ...noted]);
  const positions = new Map<string, readonly Position[]>();
  await inParallel(limits.page.queries_at_once, ids, async (id) => {
    const [balance] = await memory.items([balances.key(tenant, id)]);
    const known = knownPositions(tenant, id, balance as Balance | undefined);
    if (known !== undefined) memory.holds(id, known);
    positions.set(id, await memory.positionsOf(tenant, id));
  });
  const held = (await memory.items(ids.map((id) => accounts.key(tenant, id)))) as (Account | undefined)[];
  const byId = new Map(held.flatMap((account) => (account === undefined ? [] : [[account.id, account] as const])));
  const named = items.flatMap(({ reading, account_id = "" }) => {
    const account = byId.get(account_id);
    const symbol = reading.ok ? openedSymbol(reading.item) : undefined;
    return account === undefined || symbol === undefined
      ? []
      : [{ symbol, currency: account.currency, source: source.name }];
  });
  const met = items.flatMap(({ reading, account_id = "" }) => {
    const [account, open = []] = [byId.get(account_id), positions.get(account_id)];
    return account === undefined || !reading.ok ? [] : tradesMet({ account, positions: open }, reading.item);
  });
  for (const { id, client_id } of byId.values()) {
    leadsTo(tenant, identityOf(accounts.key(tenant, id)), [clients.key(tenant, client_id)]);
  }
  const others = [
    ...[...byId.values()].map(({ client_id }) => clients.key(tenant, client_id)),
    ...met.map((id) => trades.key(tenant, id)),
  ];
  const owned = await tradeKeys(run, memory, readings);
  await Promise.all([
    readMarketWith(tenant, [...[...positions.values()].flat(), ...named], [...others, ...owned], memory.items),
    readCandidates(run, memory, items, byId),
  ]);
}

/** Reads what operations that name nothing could be the money of. */
async function readCandidates(
  { tenant_id: tenant, source }: FeedRun,
  memory: BatchMemory,
  items: readonly PlacedItem[],
  holders: ReadonlyMap<string, Account>,
): Promise<void> {
  await inParallel(limits.page.queries_at_once, items, async ({ reading, account_id = "" }) => {
    const account = holders.get(account_id);
    if (account === undefined || !reading.ok || reading.item.type !== "balance_operation") return;
    const { data } = reading.item;
    const amount = operationMinor(data, account);
    if (!amount.ok || nameOf(data, undefined) !== undefined) return;
    const marker = operationMarker(source, data.operation_id);
    const [known] = await memory.items([uniques.key(tenant, "source_operation", marker)]);
    if (known === undefined) await memory.candidatesOf(tenant, account.id, amount.result);
  });
}

/** The trades that a deal may meet by the positions of its account. */
function tradesMet(holdings: Parameters<typeof tradesNeeded>[0], item: ReadItem): readonly string[] {
  return item.type === "execution" ? tradesNeeded(holdings, item, undefined) : [];
}

function openedSymbol(item: ReadItem): string | undefined {
  return item.type === "execution" && item.data.action === "open" ? item.data.symbol : undefined;
}
