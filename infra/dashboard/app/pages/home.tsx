import { countOf, isKnown, type List, useList, useResource } from "../api/data.ts";
import type { Schemas } from "../api/types.ts";
import { useClock } from "../parts/clock.ts";
import { grouped, less, relative, shortId, signed, timeOf } from "../parts/format.ts";
import { Rows } from "../parts/list.tsx";
import { PageHead, Panel } from "../parts/page.tsx";
import type { Shape, Tone } from "../parts/states.ts";
import { ErrorNotice } from "../parts/states-of-page.tsx";
import { Mark, Status } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Age, Go, Money, Waiting as WaitingSince } from "../parts/values.tsx";
import { useMay } from "../session/caller.ts";
import { useClientNames } from "./customers/client-column.tsx";
import { useIdentities } from "./customers/identities.ts";
import { FirstSteps } from "./first-steps.tsx";
import { useApprovals, type Waiting } from "./money/approval-data.ts";
import { Kind } from "./money/kind.tsx";
import { runningDay, startText } from "./money/running-day.ts";
import { feedState } from "./trading/feed-state.ts";
import { useMarginAlerts } from "./trading/margin-alerts.ts";
import { marginColumns } from "./trading/margin-columns.tsx";

/** Work that needs a person now. */
export function HomePage() {
  const day = useClock((now) =>
    new Date(now).toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long", timeZone: "UTC" }),
  );
  const may = useMay();
  return (
    <>
      <PageHead title="Home" note={<span className="dim">{day}</span>} />
      <div className="counters">
        {may("transactions:approve") && <ApprovalsCounter />}
        {may("clients:verify") && <DecisionsCounter />}
        {may("clients:verify") && <RenewalsCounter />}
        {may("accounts:read") && <MarginCounter />}
        {may("feed:read") && <FeedsCounter />}
        {may("webhooks:read") && <WebhooksCounter />}
      </div>
      <div className="columns">
        <div>
          {may("clients:read") && <FirstSteps />}
          {may("accounts:read") && <LowestLevels />}
          {may("transactions:approve") && <OldestApprovals />}
        </div>
        <div className="side-column">
          {may("reports:read") && <MoneyToday />}
          {may("feed:read") && <Feeds />}
          {may("webhooks:read") && <FailingEndpoints />}
        </div>
      </div>
    </>
  );
}

interface CounterProps {
  readonly to: string;
  readonly name: string;
  /** The counted list: while it is not known, no number is shown. */
  readonly list: List<unknown>;
  readonly count: string;
  readonly note: string;
  /** The mark while there is something; nothing is quiet. */
  readonly mark: readonly [Shape, Tone];
}

function Counter({ to, name, list, count, note, mark }: CounterProps) {
  if (!isKnown(list)) return <Unknown to={to} name={name} list={list} />;
  const [shape, tone] = count === "0" ? (["tick", "ok"] as const) : mark;
  return (
    <Go to={to}>
      <span className="with-icon dim">
        <Mark shape={shape} tone={tone} /> {name}
      </span>
      <div>
        <strong>{count}</strong>
        <span className="dim">{note}</span>
      </div>
    </Go>
  );
}

function Unknown({ to, name, list: { error, readAt } }: Pick<CounterProps, "to" | "name" | "list">) {
  const since = readAt > 0 ? `not known since ${timeOf(readAt)}` : "not known";
  return (
    <Go to={to}>
      <span className="with-icon dim">
        {error !== null && <Mark shape="triangle" tone="warn" />} {name}
      </span>
      <div>
        <strong>–</strong>
        <span className={error === null ? "dim waiting" : "warn"}>{error === null ? "loading" : since}</span>
      </div>
    </Go>
  );
}

function ApprovalsCounter() {
  const list = useApprovals();
  const [oldest] = list.rows;
  const note = useClock((now) => {
    if (oldest !== undefined) return `oldest ${relative(oldest.created_at, now).replace(/ ago$/, "")}`;
    return list.hasMore ? "none for you so far" : "nothing waits";
  });
  return (
    <Counter
      to="/approvals"
      name="Waiting for your approval"
      list={list}
      count={countOf(list)}
      note={note}
      mark={["ring", "accent"]}
    />
  );
}

function DecisionsCounter() {
  const list = useIdentities("decision");
  const since = list.rows[0]?.verification.submitted_at;
  const note = useClock((now) => (since ? `oldest ${relative(since, now).replace(/ ago$/, "")}` : "none waits"));
  const count = countOf(list);
  return (
    <Counter
      to="/compliance"
      name="Identities to decide"
      list={list}
      count={count}
      note={note}
      mark={["ring", "accent"]}
    />
  );
}

function RenewalsCounter() {
  const list = useIdentities("renewal");
  const ended = list.rows.filter(({ verification_status: state }) => state === "expired").length;
  return (
    <Counter
      to="/compliance?kind=renewal"
      name="Verifications to renew"
      list={list}
      count={countOf(list)}
      note={`${ended} ended`}
      mark={["triangle", "warn"]}
    />
  );
}

function MarginCounter() {
  const list = useMarginAlerts();
  const out = list.rows.filter(({ margin_status }) => margin_status === "stop_out").length;
  const calls = list.rows.length - out;
  const note = `${out} ${out === 1 ? "stop-out" : "stop-outs"}, ${calls} margin ${calls === 1 ? "call" : "calls"}`;
  return (
    <Counter
      to="/margin-watch"
      name="Margin alerts"
      list={list}
      count={countOf(list)}
      note={note}
      mark={out > 0 ? ["octagon", "bad"] : ["triangle", "warn"]}
    />
  );
}

const useFeeds = () => useList("/feed/sources", { query: { limit: 50 } });

function FeedsCounter() {
  const list = useFeeds();
  const active = list.rows.filter(({ status }) => status === "active");
  const stale = active.filter((row) => feedState(row) === "stale").length;
  return (
    <Counter
      to="/feeds"
      name="Feeds"
      list={list}
      count={String(stale)}
      note={`of ${active.length} stale`}
      mark={["triangle", "warn"]}
    />
  );
}

const useEndpoints = () => useList("/webhook_endpoints", { query: { limit: 50 } });

const isFailing = ({ consecutive_failures, status }: Schemas["WebhookEndpoint"]) =>
  status === "auto_disabled" || (consecutive_failures > 0 && status === "enabled");

function WebhooksCounter() {
  const list = useEndpoints();
  return (
    <Counter
      to="/webhooks"
      name="Webhook endpoints"
      list={list}
      count={String(list.rows.filter(isFailing).length)}
      note={`of ${list.rows.length} failing`}
      mark={["half", "warn"]}
    />
  );
}

function LowestLevels() {
  const names = useClientNames();
  const list = useList("/accounts/margin_watch", { query: { limit: 10, ...names.query } });
  return (
    <Panel title="Lowest margin levels" side={<Go to="/margin-watch">Margin watch</Go>}>
      <Rows
        list={{ ...list, hasMore: false }}
        dense
        bare
        caption="Lowest margin levels"
        columns={marginColumns}
        idOf={({ account_id }) => account_id}
        to={({ account_id }) => `/accounts/${account_id}`}
        empty={{ title: "No account uses margin", text: "Accounts with open positions are listed here." }}
      />
    </Panel>
  );
}

const waitingColumns: readonly Column<Waiting>[] = [
  { head: "Kind", width: 140, key: true, small: "name", cell: ({ kind }) => <Kind kind={kind} /> },
  { head: "Client", small: "purpose", cell: ({ client, client_id }) => client?.name ?? shortId(client_id) },
  { head: "Approvals", width: 100, right: true, cell: ({ approvals = [] }) => approvals.length },
  {
    head: "Amount",
    width: 180,
    right: true,
    small: "amount",
    cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
  },
  {
    head: "Waiting",
    width: 130,
    right: true,
    small: "age",
    cell: ({ created_at }) => <WaitingSince since={created_at} />,
  },
];

function OldestApprovals() {
  const list = useApprovals();
  return (
    <Panel title="Oldest approvals" side={<Go to="/approvals">All {countOf(list)}</Go>}>
      <Rows
        list={{ ...list, rows: list.rows.slice(0, 5) }}
        dense
        bare
        caption="Oldest approvals"
        columns={waitingColumns}
        idOf={({ id }) => id}
        to={({ id }) => `/approvals?open=${id}`}
        empty={{ title: "Nothing waits for you", text: "What others create appears here, if it needs an approval." }}
      />
    </Panel>
  );
}

interface DayOfMoney {
  readonly currency: string;
  readonly into: string;
  readonly out: string;
}

/** Money that came in and went out today, exact, by currency, less the returns. */
function moneyOf(report: Schemas["MoneyReport"]): DayOfMoney[] {
  return report.data.map(({ currency, deposits, returned_deposits, withdrawals, returned_withdrawals }) => ({
    currency,
    into: less(deposits, returned_deposits),
    out: less(withdrawals, returned_withdrawals),
  }));
}

const moneyColumns: readonly Column<DayOfMoney>[] = [
  { head: "Currency", width: 70, small: "name", cell: ({ currency }) => <span className="dim">{currency}</span> },
  { head: "In", right: true, small: "purpose", cell: ({ into }) => grouped(into) },
  { head: "Out", right: true, small: "age", cell: ({ out }) => grouped(out) },
  { head: "Net", right: true, small: "amount", cell: ({ into, out }) => <strong>{signed(less(into, out))}</strong> },
];

function MoneyToday() {
  const { data: settings } = useResource("/settings", {}, { still: true });
  const end = settings?.day_end ?? { time: "00:00", zone: "UTC" };
  const day = useClock((now) => runningDay(end, now));
  const { data, error, dataUpdatedAt, refetch } = useResource(
    "/reports/money",
    { query: { from: day, to: day } },
    { enabled: settings !== undefined },
  );
  const rows = data === undefined ? [] : moneyOf(data);
  const note =
    data === undefined ? null : error === null ? (
      <>
        , as of <Age at={data.as_of} />
      </>
    ) : (
      <span className="warn">, not known since {timeOf(dataUpdatedAt)}</span>
    );
  return (
    <Panel
      title="Money today"
      note={
        <>
          since {startText(end)}
          {note}
        </>
      }
    >
      {error !== null && data === undefined && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {rows.length > 0 && (
        <Table dense caption="Money today" rows={rows} columns={moneyColumns} idOf={({ currency }) => currency} />
      )}
      {data !== undefined && rows.length === 0 && <p className="dim">No deposit or withdrawal was settled yet.</p>}
    </Panel>
  );
}

const feedColumns: readonly Column<Schemas["FeedSource"]>[] = [
  { head: "Source", key: true, small: "name", cell: ({ name }) => name },
  { head: "State", width: 90, small: "amount", cell: (row) => <Status state={feedState(row)} /> },
  {
    head: "Last batch",
    width: 110,
    right: true,
    small: "age",
    cell: ({ last_batch_at }) => <Age at={last_batch_at} />,
  },
];

function Feeds() {
  const { rows } = useFeeds();
  const active = rows.filter(({ status }) => status === "active").slice(0, 5);
  if (active.length === 0) return null;
  return (
    <Panel title="Feeds" side={<Go to="/feeds">All feeds</Go>}>
      <Table
        dense
        caption="Feeds"
        rows={active}
        columns={feedColumns}
        idOf={({ id }) => id}
        to={({ id }) => `/feeds/${id}`}
      />
    </Panel>
  );
}

const endpointColumns: readonly Column<Schemas["WebhookEndpoint"]>[] = [
  { head: "Endpoint", key: true, small: "name", cell: ({ url }) => url.replace(/^https?:\/\//, "") },
  {
    head: "Failures",
    width: 76,
    right: true,
    small: "amount",
    cell: ({ consecutive_failures }) => consecutive_failures,
  },
  {
    head: "Last success",
    width: 100,
    right: true,
    small: "age",
    cell: ({ last_success_at }) => <Age at={last_success_at} />,
  },
];

function FailingEndpoints() {
  const failing = useEndpoints().rows.filter(isFailing);
  if (failing.length === 0) return null;
  return (
    <Panel title="Failing endpoints" side={<Go to="/webhooks">All webhooks</Go>}>
      <Table
        dense
        caption="Failing endpoints"
        rows={failing.slice(0, 5)}
        columns={endpointColumns}
        idOf={({ id }) => id}
        to={({ id }) => `/webhooks/${id}`}
      />
    </Panel>
  );
}
