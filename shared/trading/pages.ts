import type { Balance } from "../domain/records/balance.ts";
import type { Order } from "../domain/records/order.ts";
import type { Position } from "../domain/records/position.ts";
import type { Trade } from "../domain/records/trade.ts";
import type { HeldPosition, MarketNow } from "../domain/trading/live.ts";
import { and, boundsBy, inRange, listParameter, matching, resourcePage } from "../http/filters.ts";
import { type ListPlace, pageRequest } from "../http/page.ts";
import { nowIso } from "../runtime/clock.ts";
import { UnreadableItem, unlessUnreadable } from "../runtime/unreadable.ts";
import { balances, orders, positions, trades } from "../table/entities.ts";
import { type ListIndex, type Page, type PageRequest, pageOfEntries, pageOfIndex, pageWith } from "../table/list.ts";
import { accountIdsOf } from "../table/owners.ts";
import { readEach } from "../table/store.ts";
import { orderFilters, positionFilters, tradeFilters } from "./filters.ts";
import { wholeGroups } from "./holdings.ts";
import { readMarket } from "./market.ts";

/** Where a page is cut from: the narrowest partitions that hold what is asked for. */
interface Source {
  readonly index: ListIndex;
  readonly partitions: readonly string[];
}

/** A page of the trades of a tenant or of some accounts of it: all by opening, or the closed ones by their close. */
export function pageOfTrades(tenant: string, place: ListPlace, accountIds?: readonly string[]): Promise<Page<Trade>> {
  const { query } = place;
  const byClose = (query["sort"] ?? "").endsWith("close_at");
  const [by, other] = byClose ? (["close", "open"] as const) : (["open", "close"] as const);
  const { index, partitions } = tradesBy(by, tenant, query["status"], accountIds);
  // A partition of one state needs no filter, and without a filter a page reads no more than it shows.
  const held = partitions[0] === trades.inState(tenant, "open") ? ["status"] : [];
  const keep = and(
    matching(
      query,
      tradeFilters.filter((name) => !held.includes(name)),
    ),
    inRange(query, other),
  );
  return pageOfIndex<Trade>(index, partitions, { ...pageRequest(place, "-open_at"), ...boundsBy(query, by), ...keep });
}

/**
 * A page of the trades of a client. A trade does not know its client by a key: the accounts, of which there are never
 * many, are asked for first, and their trades are merged.
 */
export async function pageOfClientTrades(tenant: string, place: ListPlace, clientId: string): Promise<Page<Trade>> {
  const wanted = place.query["account_id"];
  const own = (await accountIdsOf(tenant, clientId)).filter((id) => wanted === undefined || id === wanted);
  return pageOfTrades(tenant, place, own);
}

function tradesBy(
  by: "open" | "close",
  tenant: string,
  status: string | undefined,
  accountIds: readonly string[] | undefined,
): Source {
  if (accountIds !== undefined) {
    return by === "close"
      ? { index: "client", partitions: accountIds.map((id) => trades.closedOfAccount(tenant, id)) }
      : { index: "owner", partitions: accountIds.map((id) => trades.ofAccount(tenant, id)) };
  }
  if (by === "close") return { index: "state", partitions: [trades.inState(tenant, "closed")] };
  return status === "open"
    ? { index: "state", partitions: [trades.inState(tenant, "open")] }
    : { index: "list", partitions: [trades.all(tenant)] };
}

/** A page of open positions, and the prices that all of them are valued at. */
export interface ValuedPage extends MarketNow {
  readonly page: Page<HeldPosition>;
}

/**
 * A page of the open positions of a tenant, or of one account of it. Their index tells which prices they need, so the
 * positions, the money of their accounts and the prices are read concurrently.
 */
export async function pageOfPositions(tenant: string, place: ListPlace, accountId?: string): Promise<ValuedPage> {
  const { query } = place;
  const symbols = listParameter(query, "symbol");
  const { index, partitions }: Source =
    accountId !== undefined
      ? { index: "owner", partitions: [positions.ofAccount(tenant, accountId)] }
      : symbols !== undefined
        ? { index: "state", partitions: symbols.map((symbol) => positions.ofSymbol(tenant, symbol)) }
        : { index: "list", partitions: [positions.all(tenant)] };
  const filters = index === "state" ? positionFilters.filter((name) => name !== "symbol") : positionFilters;
  const bounds = boundsBy(query, "opened");
  const request: PageRequest = { ...pageRequest(place, "-opened_at"), ...bounds, ...matching(query, filters) };
  const page = await pageOfEntries(index, partitions, request, ["account_id", "currency", "facets"]);
  const needs = page.items.map(({ item }) => ({
    symbol: String(item["symbol"]),
    currency: String(item["currency"]),
    source: String(item["source"]),
  }));
  const keys = page.items.flatMap(({ key, item }) => [key, balances.key(tenant, String(item["account_id"]))]);
  const [found, all] = await Promise.all([
    readEach(keys, { consistent: false }),
    unlessUnreadable(readMarket(tenant, needs)),
  ]);
  const shown = wholeGroups<[Position, Balance]>(found, 2).map((pair) =>
    pair instanceof UnreadableItem ? pair : pair && { position: pair[0], balance: pair[1] },
  );
  if (!(all instanceof UnreadableItem)) return { page: pageWith(page, shown), market: all, now: nowIso() };
  // Positions that cannot be valued are left out: a market of its own for each finds them.
  const alone = await Promise.all(needs.map((need) => unlessUnreadable(readMarket(tenant, [need]))));
  const isValued = (at: number) => !(alone[at] instanceof UnreadableItem);
  const market = await readMarket(
    tenant,
    needs.filter((_, at) => isValued(at)),
  );
  const left = shown.map((each, at) => (isValued(at) ? each : alone[at])) as typeof shown;
  return { page: pageWith(page, left), market, now: nowIso() };
}

/** A page of the orders of a tenant, or of one account of it: pending ones unless another status is asked for. */
export function pageOfOrders(tenant: string, place: ListPlace, accountId?: string): Promise<Page<Order>> {
  const statuses = listParameter(place.query, "status") ?? ["pending"];
  const request = resourcePage(place, orderFilters);
  return accountId === undefined
    ? pageOfIndex<Order>(
        "list",
        statuses.map((status) => orders.inStatus(tenant, status)),
        request,
      )
    : pageOfIndex<Order>(
        "owner",
        statuses.map((status) => orders.ofAccount(tenant, accountId, status)),
        request,
      );
}
