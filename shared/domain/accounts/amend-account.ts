import type { AccountBalanceBody, UpdateAccount } from "../../schema/account.ts";
import { defaultRetailTerms, type RetailTerms } from "../access/retail-terms.ts";
import { agreeOnLink } from "../access/second-person.ts";
import { type Context, later, type Requirement, refuse, unchanged } from "../kernel/decision.ts";
import { sameValue } from "../kernel/equality.ts";
import { mergeMetadata } from "../kernel/metadata.ts";
import type { Account, LinkProposal } from "../records/account.ts";
import type { Balance } from "../records/balance.ts";
import type { Change, Decision } from "../records/change.ts";
import type { Client } from "../records/client.ts";
import type { FeedSource } from "../records/feed-source.ts";
import type { Tenant } from "../records/tenant.ts";
import {
  accountBody,
  accountUpdated,
  isLinked,
  isRetailLive,
  marginLevels,
  maxLeverage,
  pendingCommandsOf,
  refuseLeverage,
} from "./account.ts";
import { adjustBalance, isAdjustment } from "./balance.ts";
import { type AccountWithBalance, claimLogin, type Link, linkTo, loginMarker } from "./open-account.ts";

/** An account with its money and the client that it belongs to. */
export interface OwnedAccount extends AccountWithBalance {
  readonly client: Client;
  /** The source that the patch names, where it names one that is there. */
  readonly source?: FeedSource | undefined;
  /** Commands that correct its balance on the platform and have not ended; looked for where the link may change. */
  readonly corrections?: readonly string[];
  /** The policies of the brokerage: without them the strictest terms of a retail client apply, and no link changes. */
  readonly tenant?: Tenant | undefined;
}

type Status = Account["status"];

const statusMoves: Readonly<Record<Status, readonly Status[]>> = {
  active: ["disabled"],
  disabled: ["active", "closed"],
  closed: [],
};

/** Decides `PATCH /accounts/{id}`. A patch that says what is already so changes nothing. */
export function amendAccount(
  { client, source, corrections = [], tenant, ...owned }: OwnedAccount,
  patch: UpdateAccount,
  context: Context,
): Decision<AccountWithBalance> {
  const retail = isRetailLive(owned.account.type, client) ? (tenant ?? defaultRetailTerms) : undefined;
  return amend({ ...owned, source, corrections, tenant }, patch, retail, context);
}

/** Decides a change that has happened on a platform, whatever this service allows a client of its own. */
export function amendHappened(
  owned: AccountWithBalance,
  patch: UpdateAccount,
  context: Context,
): Decision<AccountWithBalance> {
  return amend(owned, patch, undefined, context);
}

/**
 * Decides `DELETE /accounts/{id}`: the account is disabled, never deleted; a second time changes nothing. The owner
 * does not matter, because neither leverage nor levels change.
 */
export function disableAccount(owned: AccountWithBalance, context: Context): Decision<AccountWithBalance> {
  return amend(owned, { status: "disabled" }, undefined, context);
}

function amend(
  { account, balance, source, corrections = [], tenant }: AccountWithBalance & Partial<OwnedAccount>,
  patch: UpdateAccount,
  retail: RetailTerms | undefined,
  context: Context,
): Decision<AccountWithBalance> {
  const open = [...corrections, ...pendingCommandsOf(account)];
  const status = amendStatus(account, balance, patch, context);
  if (!status.ok) return status;
  const metadata = mergeMetadata(account.metadata, patch.metadata ?? {});
  if (!metadata.ok) return metadata;
  if (patch.leverage !== undefined && patch.leverage > maxLeverage(retail)) return refuseLeverage(retail);
  const touched = ["margin_call_level", "stop_out_level", "margin_rearm_level"].some((name) => name in patch);
  const levels = touched ? marginLevels({ ...levelsOf(account), ...patch }, retail) : unchanged(levelsOf(account));
  if (!levels.ok) return levels;
  const link = amendLink(account, patch, source);
  if (!link.ok) return link;
  const { status: _s, disabled_reason: _r, trading_mode: _t, metadata: _m, force: _f, client_money, ...plain } = patch;
  const settled = { ...levels.result, ...status.result, ...link.result, metadata: metadata.result };
  const held = client_money ?? account.client_money;
  const { client_money: _held, ...others } = account;
  const kept = held === "title_transfer" ? { client_money: held } : {};
  const merged = { ...others, ...kept, ...plain, ...settled } as Account;
  if (sameValue(merged, account)) return unchanged({ account, balance });
  if (account.status === "closed") return refuse("account_closed", "A closed account cannot be changed.");
  if (isRelinked(account, merged) && balance.pending > 0) {
    const detail = "Source and login cannot change while transactions are pending: their money could be booked twice.";
    return refuse("account_not_empty", detail, { extra: { left: ["pending transactions"] } });
  }
  const closes = merged.status === "closed";
  if ((closes || isRelinked(account, merged)) && open.length > 0) {
    const what = closes ? "The account cannot be closed" : "Source and login cannot change";
    return refuse("account_not_empty", `${what} while commands to the platform are open.`, { extra: { left: open } });
  }
  if (isLinked(merged) && !isLinked(account) && balance.credit_minor !== 0n) {
    const detail = "The account has credit, which the trading platform does not know.";
    return refuse("account_not_empty", detail, { extra: { left: ["credit"] } });
  }
  if (isRelinked(account, merged) && isAside(balance)) {
    const left = ["items that were set aside"];
    return refuse("account_not_empty", `Source and login cannot change while there are ${left[0]}.`, {
      extra: { left },
    });
  }
  const agreed = isRelinked(account, merged)
    ? agreeOnLink({ account, balance }, merged, tenant, context)
    : unchanged(merged);
  if (!agreed.ok) return agreed;
  if (sameValue(agreed.result, account)) return unchanged({ account, balance });
  const moment = later(account.updated_at, context.now);
  const after: Account = { ...agreed.result, updated_at: moment, version: account.version + 1 };
  const gate = gateChanges(account, after, balance, moment);
  const shown = { account: after, balance: gate.find(isAdjustment)?.after ?? balance };
  return {
    ok: true,
    result: shown,
    changes: [
      { op: "update", entity: "account", before: account, after },
      ...gate,
      ...moveLogin(account, after),
      ...noteOfLink(account, after),
    ],
    events: [accountUpdated(account, after, shown.balance)],
  };
}

/** The note of a link that this change proposes, by which the handover of a person finds it. */
function noteOfLink(
  before: Account,
  { tenant_id, id: account_id, version: account_version, proposed_link: link }: Account,
): Change[] {
  if (link === undefined || link.at === before.proposed_link?.at) return [];
  const expires_at = Math.ceil(Date.parse(link.expires_at) / 1000);
  const item: LinkProposal = { tenant_id, account_id, account_version, at: link.at, expires_at };
  return [{ op: "create", entity: "link_proposal", item }];
}

/** The money of an account as `GET /accounts/{id}/balance` shows it. */
export function balanceBody({ account, balance }: AccountWithBalance): AccountBalanceBody {
  const shown = accountBody(account, balance);
  return {
    object: "account_balance",
    account_id: account.id,
    currency: shown.currency,
    balance: shown.balance,
    credit: shown.credit,
    held: shown.held,
    available_balance: shown.available_balance,
    floating_pnl: shown.floating_pnl,
    equity: shown.equity,
    used_margin: shown.used_margin,
    free_margin: shown.free_margin,
    margin_level: shown.margin_level,
    withdrawable: shown.withdrawable,
    margin_status: shown.margin_status,
    metrics_as_of: shown.metrics_as_of,
    metrics_stale: shown.metrics_stale,
    balance_version: shown.balance_version,
    _links: { self: { href: `/v2/accounts/${account.id}/balance` }, account: { href: `/v2/accounts/${account.id}` } },
  };
}

/** The link after a patch; an account of this service takes the platform of the source that it is linked to. */
function amendLink(account: Account, patch: UpdateAccount, source: FeedSource | undefined): Decision<Partial<Link>> {
  const { source_id = null, platform_login } = { ...account, ...patch } as Account;
  if (source_id === null) return unchanged({});
  const joins = patch.source_id !== undefined && patch.source_id !== account.source_id;
  if (!joins && platform_login !== null) return unchanged({});
  const platform = account.platform === "internal" && source !== undefined ? source.platform : account.platform;
  return linkTo(source, { source_id, platform, platform_login });
}

/** Whether two states of an account are linked to different accounts of platforms. */
function isRelinked(before: Account, after: Account): boolean {
  return before.platform_login !== after.platform_login || before.source_id !== after.source_id;
}

function levelsOf({ margin_call_level, stop_out_level, margin_rearm_level }: Account) {
  return { margin_call_level, stop_out_level, margin_rearm_level };
}

type StatusFields = Pick<
  Account,
  "status" | "trading_mode" | "trading_mode_before" | "disabled_at" | "disabled_reason" | "closed_at" | "orders_void_at"
>;

function amendStatus(
  account: Account,
  balance: Balance,
  patch: UpdateAccount,
  context: Context,
): Decision<StatusFields> {
  const from = account.status;
  const to = patch.status ?? from;
  const { trading_mode, trading_mode_before, disabled_at, disabled_reason, closed_at } = account;
  const now: StatusFields = {
    status: from,
    trading_mode,
    trading_mode_before,
    disabled_at,
    disabled_reason,
    closed_at,
  };
  const mode = patch.trading_mode;
  if (mode !== undefined && mode !== trading_mode && to !== "active") {
    return refuse("account_disabled", "The trading mode of an account can be set while it is active.");
  }
  if (to === from) {
    const reason = from === "disabled" && patch.disabled_reason !== undefined ? patch.disabled_reason : disabled_reason;
    return unchanged({ ...now, trading_mode: mode ?? trading_mode, disabled_reason: reason });
  }
  const allowed = statusMoves[from];
  if (!allowed.includes(to)) {
    return refuse("illegal_transition", `status cannot go from ${from} to ${to}.`, { extra: { from, to, allowed } });
  }
  if (to === "disabled") {
    return unchanged({
      ...now,
      status: to,
      trading_mode: "none",
      trading_mode_before: trading_mode,
      disabled_at: context.now,
      disabled_reason: patch.disabled_reason ?? null,
      orders_void_at: context.now,
    });
  }
  if (to === "closed") {
    const left = whatIsLeft(balance);
    if (left.length > 0) {
      return refuse("account_not_empty", `The account still has ${left.join(", ")}.`, { extra: { left } });
    }
    return unchanged({ ...now, status: to, closed_at: context.now });
  }
  // A debt that a forced return left behind is not forgotten while the account was disabled: it only closes .
  const before = trading_mode_before ?? "full";
  const back = mode ?? (balance.balance_minor < 0n && before === "full" ? "close_only" : before);
  return unchanged({
    ...now,
    status: to,
    trading_mode: back,
    trading_mode_before: null,
    disabled_at: null,
    disabled_reason: null,
  });
}

function whatIsLeft(balance: Balance): string[] {
  return [
    ...(balance.positions > 0 ? ["positions"] : []),
    ...(balance.pending > 0 ? ["pending transactions"] : []),
    ...(balance.balance_minor === 0n ? [] : ["a balance"]),
    ...(balance.credit_minor === 0n ? [] : ["credit"]),
    ...(isAside(balance) ? ["items that were set aside"] : []),
  ];
}

/** Whether items that were put aside hold money or add to it: without pending money nothing else holds. */
function isAside({ pending, held_minor, aside_minor = 0n }: Balance): boolean {
  return aside_minor !== 0n || (pending === 0 && held_minor !== 0n);
}

/** Bookings that an account accepts: nothing new unless it is active, and all only when it may trade fully. */
function gateOf(account: Account): Balance["accepts"] {
  if (account.status !== "active") return "none";
  return account.trading_mode === "full" ? "all" : "close_only";
}

/** Members on which the margin of an account and its states depend. */
const marginTerms = ["leverage", "margin_call_level", "stop_out_level", "margin_rearm_level"] as const;

/**
 * The gate is copied to the money, so that what arrives at the same time meets it there; so do other terms of margin
 * and another login.
 */
function gateChanges(before: Account, after: Account, balance: Balance, moment: string): Change[] {
  const gate = gateOf(after);
  const closes = after.status === "closed" && before.status !== "closed";
  const moves = gate !== gateOf(before) || closes;
  const relinks = isRelinked(before, after);
  const terms = marginTerms.some((name) => before[name] !== after[name]);
  if (!moves && !relinks && !terms) return [];
  const empty: readonly Requirement[] = [
    { attribute: "positions", is: "equal", value: 0 },
    { attribute: "pending", is: "equal", value: 0 },
    { attribute: "balance_minor", is: "equal", value: 0n },
    { attribute: "credit_minor", is: "equal", value: 0n },
    { attribute: "held_minor", is: "equal", value: 0n },
    ...(balance.aside_minor === undefined ? [] : [{ attribute: "aside_minor", is: "equal", value: 0n } as const]),
  ];
  const changes: Change[] = [
    adjustBalance(
      balance,
      { now: moment },
      {
        set: {
          ...(moves ? { accepts: gate } : {}),
          ...(terms ? { leverage: after.leverage, terms_version: after.version } : {}),
          ...(relinks && after.platform !== "internal" ? { linked: 1 } : {}),
        },
        // Decisions on the account as it was must be repeated: a posting while it was not yet closed or linked to
        // another login, an opening under other terms of margin.
        ...(closes || relinks || terms ? { add: { pos_version: 1 } } : {}),
        require: [
          ...(closes ? empty : []),
          // Opening is decided on the money that was read; a stop must never wait for it.
          ...(moves && !closes && gate !== "none"
            ? [{ attribute: "seq", is: "equal", value: balance.seq } as const]
            : []),
          ...(relinks ? [{ attribute: "pending", is: "equal", value: 0 } as const] : []),
          ...(relinks ? [{ attribute: "held_minor", is: "equal", value: balance.held_minor } as const] : []),
          ...(isLinked(after) && !isLinked(before)
            ? [{ attribute: "credit_minor", is: "equal", value: 0n } as const]
            : []),
          ...(terms ? [{ attribute: "pos_version", is: "equal", value: balance.pos_version } as const] : []),
        ],
      },
    ),
  ];
  if (closes) {
    changes.push({ op: "adjust", entity: "client", id: after.client_id, add: { open_accounts: -1 }, require: [] });
  }
  return changes;
}

function moveLogin(before: Account, after: Account): Change[] {
  if (!isRelinked(before, after)) return [];
  return [
    ...(before.platform_login === null
      ? []
      : [{ op: "release", kind: "platform_login", value: loginMarker(before), owner: before.id } as const]),
    ...(after.platform_login === null ? [] : [claimLogin(after)]),
  ];
}
