import { loginMarkers } from "../domain/accounts/open-account.ts";
import type { Account } from "../domain/records/account.ts";
import type { Balance } from "../domain/records/balance.ts";
import type { StoredRisk } from "../domain/records/risk.ts";
import type { MarketNow } from "../domain/trading/live.ts";
import { type Holdings, metricsAt } from "../domain/trading/margin.ts";
import { and, listParameter, matching, partitionsOf, resourcePage } from "../http/filters.ts";
import { type ListPlace, pageRequest } from "../http/page.ts";
import { nowIso } from "../runtime/clock.ts";
import { readable, UnreadableItem, unlessUnreadable } from "../runtime/unreadable.ts";
import { accountFacets } from "../schema/account.ts";
import { accounts, balances, feedSources, risks } from "../table/entities.ts";
import { type Page, type PageRequest, pageOfEntries, pageOfFound, pageWith } from "../table/list.ts";
import { ownersOf, type UniqueValues } from "../table/owners.ts";
import { pagesOf } from "../table/partition.ts";
import { readEach } from "../table/store.ts";
import { indexes } from "../table/table-shape.ts";
import { accountFilters } from "./filters.ts";
import { type ListedAccount, readListedAccounts, wholeGroups, withPositions } from "./holdings.ts";
import { readMarket } from "./market.ts";

const facets = [
  { name: "status", values: accountFacets.status },
  { name: "type", values: accountFacets.type },
] as const;

/** A page of accounts with their open positions, and the prices that all of them are valued at. */
interface AccountPage extends MarketNow {
  readonly page: Page<Holdings>;
}

/**
 * A page of accounts: of a client, or all of a tenant. The state of a margin follows from prices, so an account is
 * shown only when it is in a wanted one now; those that are not normal are looked for among the accounts that were not
 * at their last evaluation. An account that is named by its number or its login is found by the claim of it.
 */
export async function pageOfAccounts(tenant: string, place: ListPlace, client_id?: string): Promise<AccountPage> {
  const wanted = listParameter(place.query, "margin_status");
  const byProfile = resourcePage(place, accountFilters);
  const rare = client_id === undefined && wanted !== undefined && !wanted.includes("normal");
  const named = await uniqueValues(tenant, place.query);
  const ofClient = matching({ client_id }, ["client_id"]);
  const page =
    named !== undefined
      ? await claimed(tenant, named, { ...byProfile, ...and(byProfile, ofClient) })
      : rare
        ? await notNormal(tenant, wanted, byProfile)
        : await profiles(tenant, place, client_id);
  const { holdings, ...moment } = await valued(tenant, await withPositions(tenant, page.items));
  const isWanted = (each: Holdings) =>
    wanted?.includes(metricsAt(moment.market, each, moment.now).margin_status) ?? true;
  const found = holdings.map((each) => (each instanceof UnreadableItem || isWanted(each) ? each : undefined));
  return { page: pageWith(page, found), ...moment };
}

/**
 * The claims that a query names an account by; undefined when it names none. A login is unique at its source, or on its
 * platform.
 */
async function uniqueValues(
  tenant: string,
  { number, platform_login: login }: ListPlace["query"],
): Promise<UniqueValues | undefined> {
  if (number !== undefined) return { kind: "account_number", values: [number] };
  if (login === undefined) return undefined;
  return { kind: "platform_login", values: loginMarkers(login, await sourceIdsOf(tenant)) };
}

/** Identifiers of the sources of a tenant, as far as the index knows yet. */
async function sourceIdsOf(tenant: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { items } of pagesOf(feedSources.all(tenant), { index: indexes.list })) {
    ids.push(...items.map((item) => String(item["id"])));
  }
  return ids;
}

async function claimed(tenant: string, named: UniqueValues, request: PageRequest) {
  const reading = ownersOf(tenant, named).then((ids) => readListedAccounts(tenant, ids, true));
  const found = reading.then((held) =>
    held.flatMap((each) => (each === undefined ? [] : [each instanceof UnreadableItem ? each : each[0]])),
  );
  const page = await pageOfFound(accounts, found, request);
  const held = readable(await reading);
  return pageWith(
    page,
    page.items.map((account) => held.find((each) => each?.[0] === account)),
  );
}

/** By status or type those of a tenant are read from the partitions of these; a client has too few for that. */
async function profiles(tenant: string, place: ListPlace, client_id: string | undefined) {
  const inState = (...pair: readonly [string, string]) => accounts.inState(tenant, ...pair);
  const states = client_id === undefined ? partitionsOf(place.query, accountFilters, facets, inState) : undefined;
  const request = resourcePage(place, states?.filters ?? accountFilters);
  const page = await (states !== undefined
    ? pageOfEntries("state", states.partitions, request, ["id"])
    : client_id !== undefined
      ? pageOfEntries("owner", [accounts.ofClient(tenant, client_id)], request, ["id"])
      : pageOfEntries("list", [accounts.all(tenant)], request, ["id"]));
  const ids = page.items.map(({ item }) => String(item["id"]));
  return pageWith(page, await readListedAccounts(tenant, ids));
}

/** Accounts in these states by what is remembered of them; their own attributes are looked at once they are read. */
async function notNormal(tenant: string, states: readonly string[], { keep, ...request }: PageRequest) {
  const partitions = states.flatMap((state) => risks.inStatus(tenant, state));
  const page = await pageOfEntries("state", partitions, request, ["account_id"]);
  const ids = page.items.map(({ item }) => String(item["account_id"]));
  const held = await readListedAccounts(tenant, ids);
  const kept = (each: ListedAccount | UnreadableItem | undefined) =>
    each instanceof UnreadableItem || (each !== undefined && (keep?.({ ...each[0] }) ?? true));
  return pageWith(
    page,
    held.map((each) => (kept(each) ? each : undefined)),
  );
}

/**
 * Accounts and the prices that all of them are valued at. Where a price or a symbol cannot be read, those that need it
 * cannot be valued: they are the error that says so, and the others are valued without them.
 */
async function valued(
  tenant: string,
  holdings: readonly (Holdings | UnreadableItem)[],
): Promise<MarketNow & { readonly holdings: readonly (Holdings | UnreadableItem)[] }> {
  const marketOf = (some: readonly Holdings[]) =>
    readMarket(
      tenant,
      some.flatMap(({ positions }) => positions),
    );
  const market = await unlessUnreadable(marketOf(readable(holdings)));
  if (!(market instanceof UnreadableItem)) return { market, now: nowIso(), holdings };
  const alone = holdings.map(async (each) => {
    const own = each instanceof UnreadableItem ? each : await unlessUnreadable(marketOf([each]));
    return own instanceof UnreadableItem ? own : each;
  });
  const left = await Promise.all(alone);
  return { market: await marketOf(readable(left)), now: nowIso(), holdings: left };
}

/** A page of the accounts that have a margin level, and the prices that all of them are valued at. */
interface WatchedPage extends MarketNow {
  readonly page: Page<{ readonly holdings: Holdings; readonly risk: StoredRisk }>;
}

/** A page of accounts by the margin level that was last recorded, the lowest first. */
export async function pageOfWatched(tenant: string, place: ListPlace): Promise<WatchedPage> {
  const request = { ...pageRequest(place, "margin_level"), ...matching(place.query, ["margin_status"]) };
  const page = await pageOfEntries("list", risks.watched(tenant), request, ["account_id"]);
  const keys = page.items.flatMap(({ item }) => {
    const id = String(item["account_id"]);
    return [risks.key(tenant, id), accounts.key(tenant, id), balances.key(tenant, id)];
  });
  const found = pageWith(
    page,
    wholeGroups<[StoredRisk, Account, Balance]>(await readEach(keys, { consistent: false }), 3),
  );
  const held = await withPositions(
    tenant,
    found.items.map(([, account, balance]) => [account, balance] as const),
  );
  const { holdings, ...moment } = await valued(tenant, held);
  const items = found.items.map(([risk], at) => {
    const each = holdings[at];
    return each instanceof UnreadableItem ? each : each && { holdings: each, risk };
  });
  return { page: pageWith(found, items), ...moment };
}
