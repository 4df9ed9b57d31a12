import { command, read } from "../../api/client.ts";
import { useResource } from "../../api/data.ts";
import { useChannels } from "../../api/live.ts";
import type { Schemas } from "../../api/types.ts";
import { addressWith, useId } from "../../parts/address.ts";
import { ActionButton, ConfirmDialog, MoreMenu } from "../../parts/dialogs.tsx";
import { EditDialog } from "../../parts/edit-dialog.tsx";
import { dayFilters } from "../../parts/filters.tsx";
import { type Field, textOf } from "../../parts/form-dialog.tsx";
import { dateOf, grouped, inWords, less } from "../../parts/format.ts";
import { byId, listPart } from "../../parts/list-part.tsx";
import { Crumb, PageHead, Pairs, Panel, type Part, Parts } from "../../parts/page.tsx";
import { FailedPage } from "../../parts/states-of-page.tsx";
import { Mark, Status } from "../../parts/status.tsx";
import { Age, Go, Id, Profit } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";
import { transactionColumns } from "../money/transaction-parts.tsx";
import { RequestMoney } from "./account-forms.tsx";
import { ClientName } from "./client-name-link.tsx";
import { requiredEquity } from "./margin-room.ts";
import { ledgerColumns, orderColumns, positionColumns, tradeColumns } from "./trading-columns.tsx";
import { WhatIf } from "./what-if.tsx";

type Account = Schemas["TradingAccount"];

/** One account: its money now with the arithmetic and its age, and what it holds. */
export function AccountPage() {
  const id = useId();
  const { data, error, refetch } = useResource("/accounts/{id}", { path: { id } });
  // Of an account that does not exist there is nothing to follow.
  useChannels(data === undefined ? [] : [{ name: "accounts", ids: [id] }]);
  if (error && data === undefined) return <FailedPage error={error} again={() => void refetch()} />;
  if (data === undefined) return null;
  return (
    <>
      <Head account={data} />
      <MoneyNow account={data} />
      <div className="columns">
        <Parts address={`/accounts/${id}`} parts={[...tradingOf(id), ...moneyOf(id)]} />
        <div className="side-column">
          <MarginLevel account={data} />
          <Details account={data} />
        </div>
      </div>
    </>
  );
}

function Head({ account }: { readonly account: Account }) {
  const { id, number, status, type, position_mode, leverage, client_id, trading_mode } = account;
  const may = useMay();
  return (
    <PageHead
      title={number}
      crumbs={
        <Crumb to="/accounts" name="Accounts">
          <Id id={id} />
        </Crumb>
      }
      note={
        <>
          <ClientName id={client_id} />
          <Status state={status} />
          {trading_mode !== "full" && (
            <Status state={trading_mode} word={`Trading ${inWords(trading_mode).toLowerCase()}`} />
          )}
          <span className="dim">
            {type}, {position_mode}, 1:{leverage}
          </span>
        </>
      }
      actions={
        <>
          {may("trading:read") && may("accounts:read") && (
            <ActionButton word="What if" dialog={(close) => <WhatIf account={account} onClose={close} />} />
          )}
          {may("transactions:write") && status === "active" && (
            <>
              <ActionButton
                word="Deposit"
                dialog={(close) => <RequestMoney account={account} kind="deposit" onClose={close} />}
              />
              <ActionButton
                word="Withdraw"
                dialog={(close) => <RequestMoney account={account} kind="withdrawal" onClose={close} />}
              />
            </>
          )}
          <Go to={`/accounts/${id}/statement`}>Statement</Go>
          {may("accounts:write") && <More account={account} />}
        </>
      }
    />
  );
}

function More({ account }: { readonly account: Account }) {
  const { id, number, status, version } = account;
  const path = { id };
  const edit = { word: "Edit", dialog: (close: () => void) => <EditAccount account={account} onClose={close} /> };
  const disable = {
    word: "Disable",
    dialog: (close: () => void) => (
      <ConfirmDialog
        title={`Disable account ${number}`}
        text="It takes no deposits, withdrawals or trades until it is enabled again."
        word="Disable"
        danger
        version={version}
        run={(key) => command("DELETE", "/accounts/{id}", { key, path })}
        onClose={close}
      />
    ),
  };
  const enable = {
    word: "Enable",
    dialog: (close: () => void) => (
      <ConfirmDialog
        title={`Enable account ${number}`}
        text="It takes deposits, withdrawals and trades again."
        word="Enable"
        version={version}
        run={(key) => command("PATCH", "/accounts/{id}", { key, path, body: { status: "active" } })}
        onClose={close}
      />
    ),
  };
  if (status === "closed") return null;
  return <MoreMenu actions={status === "active" ? [edit, disable] : [edit, enable]} />;
}

const nameField = (now: Account): Field => ({ name: "name", label: "Name", first: now.name ?? "", optional: true });

const accountFields = (now: Account): readonly Field[] => [
  nameField(now),
  { name: "leverage", label: "Leverage", first: String(now.leverage) },
  {
    name: "trading_mode",
    label: "Trading",
    kind: "choice",
    values: ["full", "close_only", "none"],
    first: now.trading_mode,
  },
];

function EditAccount({ account, onClose }: { readonly account: Account; readonly onClose: () => void }) {
  const path = { id: account.id };
  const may = useMay();
  return (
    <EditDialog
      title={`Edit account ${account.number}`}
      resource={account}
      read={() => read("/accounts/{id}", { path })}
      fieldsOf={may("accounts:terms") ? accountFields : (now) => [nameField(now)]}
      bodyOf={(entered) => ({
        name: textOf(entered, "name") ?? null,
        leverage: Number(textOf(entered, "leverage")),
        trading_mode: textOf(entered, "trading_mode"),
      })}
      send={(body, options) => command("PATCH", "/accounts/{id}", { ...options, path, body })}
      onClose={onClose}
    />
  );
}

function MoneyNow({ account }: { readonly account: Account }) {
  const { currency, metrics_as_of, metrics_stale } = account;
  const sums = [
    ["", "Balance", grouped(account.balance)],
    ["+", "Credit", grouped(account.credit)],
    ["+", "Floating P/L", <Profit key="pnl" amount={account.floating_pnl} />],
    ["=", "Equity", grouped(account.equity)],
    ["−", "Used margin", grouped(account.used_margin)],
    ["−", "Held", grouped(account.held)],
    ["=", "Free margin", grouped(account.free_margin)],
  ] as const;
  return (
    <Panel
      title="Money now"
      note={
        <span className="with-icon">
          {currency}
          <Mark shape={metrics_stale ? "triangle" : "tick"} tone={metrics_stale ? "warn" : "ok"} />
          <span className={metrics_stale ? "warn" : undefined}>
            {metrics_stale ? "stale prices" : "prices"} <Age at={metrics_as_of} />
          </span>
        </span>
      }
    >
      <dl className={metrics_stale ? "sums stale-value" : "sums"}>
        {sums.map(([sign, name, value]) => (
          <div key={name} className="sum" data-sign={sign || undefined}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        <div className="apart">
          <dt>Withdrawable</dt>
          <dd>{grouped(account.withdrawable)}</dd>
        </div>
      </dl>
    </Panel>
  );
}

function MarginLevel({ account }: { readonly account: Account }) {
  const { margin_level, margin_status, equity, used_margin, margin_call_level, stop_out_level } = account;
  const room = (level: string) => grouped(less(equity, requiredEquity(used_margin, level)));
  return (
    <Panel title="Margin level" side={<Status state={margin_status} />}>
      <p className="decide">{margin_level === null ? "–" : `${grouped(margin_level)}%`}</p>
      {margin_level !== null && (
        <>
          <p className="dim">Equity may fall by this much until</p>
          <ul className="checks">
            <li>
              <span>Margin call, {grouped(margin_call_level)}%</span>
              <span>{room(margin_call_level)}</span>
            </li>
            <li>
              <span>Stop-out, {grouped(stop_out_level)}%</span>
              <span>{room(stop_out_level)}</span>
            </li>
          </ul>
        </>
      )}
      {margin_level === null && <p className="dim">No open position uses margin.</p>}
    </Panel>
  );
}

function Details({ account }: { readonly account: Account }) {
  const { platform, platform_login } = account;
  return (
    <>
      <Panel title="Details">
        <Pairs
          pairs={[
            ["Name", account.name],
            ["Group", account.group_id],
            ["Platform", `${inWords(platform)}${platform_login ? `, login ${platform_login}` : ""}`],
            ["Trading", inWords(account.trading_mode)],
            ["Hedged margin", inWords(account.margin_calculation)],
            ["Protection", account.negative_balance_protection ? "No loss below zero" : "None"],
            ["Swap", account.swap_free ? "Free of swap" : "Charged"],
            ["Opened", dateOf(account.created_at)],
          ]}
        />
      </Panel>
      <Panel title="Timeline">
        <Go to={addressWith("/events", { account_id: account.id })}>All events of this account</Go>
      </Panel>
    </>
  );
}

const tradingOf = (id: string): readonly Part[] => [
  listPart(id, {
    name: "Positions",
    scope: "trading:read",
    path: "/accounts/{id}/positions",
    columns: positionColumns,
    idOf: byId,
    empty: { title: "No open positions", text: "Positions appear with the first trade." },
  }),
  listPart(id, {
    name: "Orders",
    scope: "trading:read",
    path: "/accounts/{id}/orders",
    columns: orderColumns,
    idOf: byId,
    empty: { title: "No orders", text: "Pending orders appear here." },
  }),
  listPart(id, {
    name: "Trades",
    scope: "trading:read",
    path: "/accounts/{id}/trades",
    filters: [...dayFilters("open", "Opened"), ...dayFilters("close", "Closed")],
    columns: tradeColumns,
    idOf: byId,
    empty: { title: "No trades", text: "Trades appear here, open and closed." },
  }),
];

const moneyOf = (id: string): readonly Part[] => [
  listPart(id, {
    name: "Transactions",
    scope: "transactions:read",
    path: "/accounts/{id}/transactions",
    columns: transactionColumns,
    to: (row) => `/transactions?open=${row.id}`,
    idOf: byId,
    empty: { title: "No transactions", text: "Transactions of every type appear here." },
  }),
  listPart(id, {
    name: "Ledger",
    scope: "accounts:read",
    path: "/accounts/{id}/ledger",
    columns: ledgerColumns,
    idOf: byId,
    empty: { title: "No entries", text: "Every change of the balance is an entry." },
  }),
];
