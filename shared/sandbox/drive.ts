import type { Context, Refusal } from "../domain/kernel/decision.ts";
import { type Destination, driveTo } from "../domain/sandbox/drive.ts";
import { priceBody } from "../domain/sandbox/prices.ts";
import { balanceNow } from "../domain/trading/live.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso } from "../runtime/clock.ts";
import type { SandboxDriveBody } from "../schema/sandbox.ts";
import type { PublishedEvent } from "../table/entities.ts";
import { payloadOf } from "../table/event-payload.ts";
import { putAudit } from "../table/outbox.ts";
import { lastSequence } from "../table/sequences.ts";
import { loadItems } from "../table/store.ts";
import { transact } from "../table/transact.ts";
import type { AccountState, Attempted } from "../trading/commit.ts";
import { readHolder, readsOf } from "../trading/holdings.ts";
import { readMarket } from "../trading/market.ts";
import { awaitEvents } from "./events.ts";
import { actOn, effectsBody, judge, type PriceEffects } from "./matching.ts";
import { setPrices } from "./prices.ts";

/** Outcome of driving an account. */
export type Driven =
  | { readonly kind: "driven"; readonly body: SandboxDriveBody }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  | { readonly kind: "not_found" }
  | { readonly kind: "contended" };

/**
 * Leaves the entry of the audit that a drive is: what it changed it changed by a price, which has no commit of its own.
 * It is written before the drive is answered.
 */
export async function recordDrive({ account_id: id, price, reached_margin_level }: SandboxDriveBody, context: Context) {
  if (context.origin === undefined) throw new Error("A drive is what somebody commands.");
  const resource = { type: "account", id };
  const after = { symbol: price.symbol, bid: price.bid, reached_margin_level };
  const audited = { resource, changes: [{ resource, before: null, after }] };
  await transact([putAudit(audited, context.origin, context, delayMs)]);
}

type State = Omit<AccountState, "client" | "trades">;

/**
 * Takes an account to a margin level by the price of one symbol: finds the price, sets it, and lets it act on what
 * waits for it, and on the account in any case. Then it waits a bounded time for the events to get their numbers.
 */
export async function driveAccount(attempted: Attempted, accountId: string, to: Destination): Promise<Driven> {
  const { tenant_id } = attempted;
  const before = await read(attempted, accountId);
  if (before === undefined) return { kind: "not_found" };
  const after = await lastSequence(tenant_id);
  const now = nowIso();
  const { currency } = before.account;
  const named = to.symbol === undefined ? [] : [{ symbol: to.symbol, currency }];
  const market = await readMarket(tenant_id, [...before.positions, ...named]);
  const drive = driveTo(before, market, to, now);
  if (!drive.ok) return { kind: "refused", refusal: drive.refusal };
  const [quote] = await setPrices(tenant_id, [{ symbol: drive.symbol, ...drive.price }], market);
  if (quote === undefined) return { kind: "contended" };
  const effects = await actOn(attempted, [quote], limits.sandbox.max_effects);
  if (!effects.accounts_evaluated.includes(accountId)) await judge(attempted, accountId, effects);
  const reached = await read(attempted, accountId);
  if (reached === undefined) return { kind: "not_found" };
  // An earlier event may get its number only now, and belongs to no part of this.
  const since = (found: readonly PublishedEvent[]) => found.filter(({ created_at }) => created_at >= now);
  const whole = (found: readonly PublishedEvent[]) => isWhole(since(found), effects, before, reached);
  const log = await awaitEvents(tenant_id, after, whole, attempted.remainingMs);
  const own = since(log.found).filter((event) => causedByRequest(event, effects, accountId));
  const moment = { market: await readMarket(tenant_id, reached.positions), now: nowIso() };
  const body: SandboxDriveBody = {
    object: "sandbox_drive",
    account_id: accountId,
    reached_margin_level: drive.margin_level,
    price: priceBody(quote, null),
    before: balanceNow(before, { market, now }),
    after: balanceNow(reached, moment),
    effects: effectsBody(effects),
    events: own.map(
      ({ id, type, sequence }) => ({ id, type, sequence: String(sequence) }) as SandboxDriveBody["events"][number],
    ),
    events_complete: log.whole && effects.complete,
  };
  return { kind: "driven", body };
}

async function read({ tenant_id }: Attempted, accountId: string): Promise<State | undefined> {
  const reads = readsOf((refs) => loadItems(tenant_id, refs));
  return (await readHolder(reads, tenant_id, accountId, {}))?.state;
}

/** Whether an event is one of this request, or of the account: the margin watch may be the first to write it. */
function causedByRequest(
  { type, resource_id, account_id }: PublishedEvent,
  { announced }: PriceEffects,
  accountId: string,
): boolean {
  return account_id === accountId || announced.some((one) => one.type === type && one.resource.id === resource_id);
}

/**
 * Whether the log holds everything that was announced: what this request announced itself, and what follows from how
 * the account stood before and stands now, regardless of the function that wrote it.
 */
function isWhole(found: readonly PublishedEvent[], effects: PriceEffects, before: State, reached: State): boolean {
  const left = new Set(reached.positions.map(({ trade_id }) => trade_id));
  const gone = before.positions.filter(({ trade_id }) => !left.has(trade_id));
  const called = (reached.risk?.episode ?? 0) > (before.risk?.episode ?? 0);
  const recovered = before.risk?.armed === false && reached.risk?.armed === true;
  const expected = [
    ...effects.announced.map(({ type, resource }) => `${type} ${resource.id}`),
    ...gone.map(({ trade_id }) => `trade.closed ${trade_id}`),
    ...(called ? [`margin.call ${before.account.id}`] : []),
    ...(recovered ? [`margin.recovered ${before.account.id}`] : []),
  ];
  const names = new Set(found.map(({ type, resource_id }) => `${type} ${resource_id}`));
  const stopped = found.some((event) => event.account_id === before.account.id && isStopOut(event));
  const ended = !stopped || reached.risk?.run !== null || names.has(`stop.out ${before.account.id}`);
  return ended && expected.every((name) => names.has(name));
}

function isStopOut(event: PublishedEvent): boolean {
  if (event.type !== "trade.closed") return false;
  const { data } = payloadOf(event, event.tenant_id).body as {
    readonly data: { readonly object: { readonly close_reason?: string } };
  };
  return data.object.close_reason === "stop_out";
}
