import { limits } from "../../limits.ts";
import type { CreateAccount } from "../../schema/account.ts";
import { type Context, refuse, refuseField, unchanged } from "../kernel/decision.ts";
import type { Account } from "../records/account.ts";
import type { Balance } from "../records/balance.ts";
import type { Change, Decision } from "../records/change.ts";
import type { Client } from "../records/client.ts";
import { type FeedSource, isEnded } from "../records/feed-source.ts";
import type { Tenant } from "../records/tenant.ts";
import {
  accountBody,
  isRetailLive,
  type Levels,
  marginLevels,
  maxLeverage,
  refuseLeverage,
  refuseRange,
  refuseTerms,
} from "./account.ts";
import { isVerified } from "./verification.ts";

/** An account together with its money. */
export interface AccountWithBalance {
  readonly account: Account;
  readonly balance: Balance;
}

/** Decides `POST /accounts` for a client that exists. */
export function openAccount(
  client: Client,
  tenant: Tenant,
  request: CreateAccount,
  context: Context,
  source?: FeedSource,
): Decision<AccountWithBalance> {
  const lacked = refuseTerms(request, context);
  if (lacked !== undefined) return lacked;
  if (client.status === "closed") return refuseField("client_closed", "client_id", "The client is closed.");
  if (client.status === "suspended") return refuseField("client_suspended", "client_id", "The client is suspended.");
  if (client.account_count >= limits.client.max_accounts) {
    return refuse("too_many_accounts", `A client may have at most ${limits.client.max_accounts} accounts.`);
  }
  const type = request.type ?? "live";
  if (type === "live" && tenant.require_verified_client === "live_account" && !isVerified(client, context.now)) {
    return refuse("client_not_verified", "The client must be verified to have a live account.");
  }
  if (request.currency !== undefined && !tenant.currencies.includes(request.currency)) {
    return refuseRange("currency", `must be one of ${tenant.currencies.join(", ")}`);
  }
  const retail = isRetailLive(type, client) ? tenant : undefined;
  const leverage = request.leverage ?? Math.min(tenant.default_leverage, maxLeverage(retail));
  if (leverage > maxLeverage(retail)) return refuseLeverage(retail);
  const levels = marginLevels(request, retail);
  if (!levels.ok) return levels;
  const { source_id = null, platform = source?.platform ?? "internal", platform_login = null } = request;
  const link = linkTo(source, { source_id, platform, platform_login });
  if (!link.ok) return link;
  const account = draftAccount(client, request, context, {
    type,
    leverage,
    currency: tenant.currencies.includes("USD") ? "USD" : (tenant.currencies[0] ?? "USD"),
    ...levels.result,
    ...link.result,
  });
  const balance = emptyBalance(account, context);
  return {
    ok: true,
    result: { account, balance },
    changes: [
      { op: "create", entity: "account", item: account },
      { op: "create", entity: "balance", item: balance },
      {
        op: "adjust",
        entity: "client",
        id: client.id,
        add: { account_count: 1, open_accounts: 1 },
        require: [
          { attribute: "status", is: "equal", value: "active" },
          { attribute: "account_count", is: "below", value: limits.client.max_accounts },
        ],
      },
      ...accountMarkers(account, request.number === undefined),
    ],
    events: [
      {
        type: "account.created",
        resource: { type: "account", id: account.id, version: 1 },
        client_id: client.id,
        account_id: account.id,
        object: accountBody(account, balance),
      },
    ],
  };
}

function draftAccount(
  client: Client,
  request: CreateAccount,
  context: Context,
  settled: Levels & Link & Pick<Account, "type" | "leverage" | "currency">,
): Account {
  const mode = request.position_mode ?? "hedging";
  return {
    id: context.newId("acc"),
    tenant_id: context.tenant_id,
    number: request.number ?? context.newNumber(8),
    client_id: client.id,
    type: settled.type,
    group_id: request.group_id ?? "default",
    name: request.name ?? null,
    currency: request.currency ?? settled.currency,
    leverage: settled.leverage,
    position_mode: mode,
    margin_calculation: request.margin_calculation ?? (mode === "hedging" ? "max" : "net"),
    platform: settled.platform,
    platform_login: settled.platform_login,
    source_id: settled.source_id,
    swap_free: request.swap_free ?? false,
    ...(request.client_money === "title_transfer" ? { client_money: request.client_money } : {}),
    negative_balance_protection: request.negative_balance_protection ?? true,
    margin_call_level: settled.margin_call_level,
    stop_out_level: settled.stop_out_level,
    margin_rearm_level: settled.margin_rearm_level,
    stop_out_order: request.stop_out_order ?? "most_losing_first",
    stop_out_mode: request.stop_out_mode ?? "full",
    status: "active",
    trading_mode: "full",
    trading_mode_before: null,
    disabled_at: null,
    disabled_reason: null,
    closed_at: null,
    created_at: context.now,
    updated_at: context.now,
    version: 1,
    metadata: request.metadata ?? {},
  };
}

function emptyBalance(account: Account, context: Context): Balance {
  return {
    account_id: account.id,
    tenant_id: context.tenant_id,
    client_id: account.client_id,
    currency: account.currency,
    accepts: "all",
    balance_minor: 0n,
    available_minor: 0n,
    held_minor: 0n,
    credit_minor: 0n,
    debt_minor: 0n,
    used_margin_minor: 0n,
    leverage: account.leverage,
    terms_version: account.version,
    seq: 0,
    pos_version: 0,
    positions: 0,
    positions_sum: 0,
    pending: 0,
    updated_at: context.now,
  };
}

function accountMarkers(account: Account, drawn: boolean): Change[] {
  const taken = (field: string) => [{ pointer: `#/${field}`, code: "taken", detail: "belongs to another account" }];
  const { tenant_id, client_id, id: account_id, number } = account;
  const changes: Change[] = [
    { op: "find", item: { tenant_id, client_id, account_id, number } },
    {
      op: "claim",
      kind: "account_number",
      value: account.number,
      owner: account.id,
      drawn,
      refusal: { code: "number_taken", detail: "The number belongs to another account.", errors: taken("number") },
    },
  ];
  if (account.platform_login !== null) changes.push(claimLogin(account));
  return changes;
}

/** The account of a platform that an account is kept on too. */
export interface Link {
  readonly source_id: string | null;
  readonly platform: Account["platform"];
  readonly platform_login: string | null;
}

/** Whether an account may have this link. Its source must be there, of the same platform, and know it by a login. */
export function linkTo(source: FeedSource | undefined, link: Link): Decision<Link> {
  if (link.source_id === null) return unchanged(link);
  if (link.platform_login === null) {
    return refuseField("validation_failed", "platform_login", "is required with source_id", "required");
  }
  if (source === undefined || isEnded(source)) {
    return refuseField("source_not_found", "source_id", "The feed source does not exist.");
  }
  if (link.platform !== source.platform)
    return refuseRange("platform", `must be ${source.platform} as that of the source`);
  return unchanged(link);
}

/** Makes the login of an account unique in the tenant: two servers of a platform may know the same login. */
export function loginMarker(account: Account): string {
  return account.source_id == null
    ? JSON.stringify([account.platform, account.platform_login])
    : sourceLoginMarker(account.source_id, account.platform_login);
}

/** The account that a source knows by a login is found by this. */
export function sourceLoginMarker(sourceId: string, login: string | null): string {
  return JSON.stringify([sourceId, login]);
}

const platforms = { internal: 1, mt4: 1, mt5: 1, ctrader: 1, other: 1 } satisfies Record<Account["platform"], 1>;

/** The markers that a login may have: one for each platform, and one for each of these sources. */
export function loginMarkers(login: string, sourceIds: readonly string[]): string[] {
  const markers = Object.keys(platforms).map((platform) => JSON.stringify([platform, login]));
  return [...markers, ...sourceIds.map((id) => sourceLoginMarker(id, login))];
}

/** Claims platform and login of an account. */
export function claimLogin(account: Account): Change {
  const detail = "belongs to another account";
  return {
    op: "claim",
    kind: "platform_login",
    value: loginMarker(account),
    owner: account.id,
    refusal: {
      code: "platform_login_taken",
      detail: `The platform login ${detail}.`,
      errors: [{ pointer: "#/platform_login", code: "taken", detail }],
    },
  };
}
