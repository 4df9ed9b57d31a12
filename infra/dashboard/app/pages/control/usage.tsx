import { Button } from "@mantine/core";
import { daysAfter } from "../../../../../shared/calendar.ts";
import { useResource } from "../../api/data.ts";
import type { Answer } from "../../api/types.ts";
import { useAddress } from "../../parts/address.ts";
import { csvOf } from "../../parts/csv.ts";
import { Filters } from "../../parts/filters.tsx";
import { grouped, sum, today } from "../../parts/format.ts";
import { Facts, PageHead, Panel } from "../../parts/page.tsx";
import { saveFile } from "../../parts/save-file.ts";
import { Failed } from "../../parts/states-of-page.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Id } from "../../parts/values.tsx";

type Usage = Answer<"/usage">;
type Row = Usage["data"][number];

/** Rows of one day, caller or route group, added up. */
interface Total {
  readonly name: string;
  readonly requests: number;
  readonly writes: number;
  readonly read_units: number;
  readonly write_units: number;
  readonly function_ms: number;
  readonly cost_usd: string;
}

const longest = 31;
const filters = [{ name: "days", label: "Days", values: ["1", "7"], none: String(longest), verbatim: true }] as const;

/** Usage of applications and operators, by day, caller and route group. */
export function UsagePage() {
  const [search] = useAddress();
  const days = Math.min(longest, Number(search["days"] ?? longest) || longest);
  const to = today();
  const from = daysAfter(to, 1 - days);
  const { data, error, refetch } = useResource("/usage", { query: { from, to } });
  if (error && data === undefined) return <Failed error={error} again={() => void refetch()} />;
  return (
    <>
      <PageHead
        title="Usage"
        note={<span className="dim">{`${from} to ${to}, counted every hour`}</span>}
        actions={
          <Button
            variant="default"
            disabled={data === undefined}
            onClick={() => saveFile(`usage-${from}-${to}.csv`, "text/csv", csvOf(data?.data ?? []))}
          >
            Save as CSV
          </Button>
        }
      />
      <Filters filters={filters} />
      {data && <Report usage={data} />}
    </>
  );
}

function Report({ usage }: { readonly usage: Usage }) {
  const { total, forecast, data, events, stream, prices } = usage;
  const days = totalsOf(data, ({ day }) => day);
  return (
    <>
      <Facts
        facts={[
          ["Requests", grouped(String(total.requests))],
          ["Events", grouped(String(total.events))],
          ["Deliveries", grouped(String(total.deliveries))],
          ["Messages", grouped(String(total.messages_sent + total.messages_received))],
          ["Connection minutes", grouped(String(total.connection_minutes))],
          ["Cost", dollars(total.cost_usd)],
          ["of requests", dollars(total.requests_cost_usd)],
          ["of events and deliveries", dollars(total.events_cost_usd)],
          ["of the stream", dollars(total.stream_cost_usd)],
          ...(forecast === null ? [] : [["Forecast of the month", dollars(forecast.cost_usd)] as const]),
          ["Prices", `${prices.region}, ${prices.read_on}`],
        ]}
      />
      {data.length === 0 ? (
        <div className="empty">
          <h2>No requests were counted yet</h2>
          <p className="dim">Requests are counted every hour. An hour is complete two hours after its end.</p>
        </div>
      ) : (
        <>
          <Panel title="By day">
            <Bars days={days} from={usage.from} to={usage.to} />
            <Totals caption="Usage by day" head="Day" rows={days} />
          </Panel>
          <Panel title="By caller">
            <Totals caption="Usage by caller" head="Caller" rows={dearest(totalsOf(data, (row) => row.actor_id))} />
          </Panel>
          <Panel title="By route group">
            <Totals
              caption="Usage by route group"
              head="Route group"
              rows={dearest(totalsOf(data, (row) => row.route_group))}
            />
          </Panel>
        </>
      )}
      <ByCaller title="Events by caller" rows={events} columns={eventColumns} />
      <ByCaller title="Stream by caller" rows={stream} columns={streamColumns} />
    </>
  );
}

interface ByCallerProps<T> {
  readonly title: string;
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
}

/** A row for each day and caller; nothing where there is none. */
function ByCaller<T extends { readonly day: string; readonly actor_id: string }>(props: ByCallerProps<T>) {
  const { title, rows, columns } = props;
  if (rows.length === 0) return null;
  return (
    <Panel title={title}>
      <Table caption={title} rows={rows} columns={columns} idOf={(row) => row.day + row.actor_id} />
    </Panel>
  );
}

const eventColumns: readonly Column<Usage["events"][number]>[] = [
  { head: "Day", width: 120, small: "age", cell: ({ day }) => day },
  { head: "Caller", small: "name", cell: ({ actor_id }) => <Caller id={actor_id} /> },
  { head: "Events", width: 120, right: true, small: "amount", cell: ({ events }) => grouped(String(events)) },
  { head: "Deliveries", width: 120, right: true, cell: ({ deliveries }) => grouped(String(deliveries)) },
  { head: "Cost", width: 130, right: true, wide: true, cell: ({ cost_usd }) => dollars(cost_usd) },
];

const streamColumns: readonly Column<Usage["stream"][number]>[] = [
  { head: "Day", width: 120, small: "age", cell: ({ day }) => day },
  { head: "Caller", small: "name", cell: ({ actor_id }) => <Caller id={actor_id} /> },
  { head: "Sent", width: 110, right: true, small: "amount", cell: (row) => grouped(String(row.messages_sent)) },
  { head: "Received", width: 110, right: true, wide: true, cell: (row) => grouped(String(row.messages_received)) },
  { head: "Minutes", width: 110, right: true, cell: (row) => grouped(String(row.connection_minutes)) },
  { head: "Cost", width: 130, right: true, wide: true, cell: ({ cost_usd }) => dollars(cost_usd) },
];

function Caller({ id }: { readonly id: string }) {
  return id.includes("_01") ? <Id id={id} /> : id;
}

function Totals({ caption, head, rows }: { readonly caption: string; readonly head: string; readonly rows: Total[] }) {
  const columns: readonly Column<Total>[] = [
    { head, small: "name", cell: ({ name }) => <Caller id={name} /> },
    { head: "Requests", width: 110, right: true, small: "purpose", cell: (row) => grouped(String(row.requests)) },
    { head: "Writes", width: 100, right: true, wide: true, cell: (row) => grouped(String(row.writes)) },
    { head: "Read units", width: 110, right: true, wide: true, cell: (row) => grouped(String(row.read_units)) },
    { head: "Write units", width: 110, right: true, wide: true, cell: (row) => grouped(String(row.write_units)) },
    { head: "Function ms", width: 120, right: true, wide: true, cell: (row) => grouped(String(row.function_ms)) },
    { head: "Cost", width: 130, right: true, small: "amount", cell: (row) => dollars(row.cost_usd) },
  ];
  return <Table caption={caption} rows={rows} columns={columns} idOf={({ name }) => name} dense />;
}

const dayMs = 86_400_000;

interface BarsProps {
  readonly days: readonly Total[];
  readonly from: string;
  readonly to: string;
}

/** Requests of each day as bars, with room for the days without any; the table below them says the same in numbers. */
function Bars({ days, from, to }: BarsProps) {
  const most = Math.max(...days.map(({ requests }) => requests));
  const dayAt = (day: string) => (Date.parse(day) - Date.parse(from)) / dayMs;
  const width = 100 / (dayAt(to) + 1);
  return (
    <svg className="bars" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label="Requests by day">
      {days.map(({ name, requests }) => {
        const height = Math.max(0.4, (requests / most) * 24);
        return (
          <rect key={name} x={dayAt(name) * width + width * 0.1} y={24 - height} width={width * 0.8} height={height}>
            <title>{`${name}: ${grouped(String(requests))} requests`}</title>
          </rect>
        );
      })}
    </svg>
  );
}

function totalsOf(rows: readonly Row[], nameOf: (row: Row) => string): Total[] {
  const totals = new Map<string, Total>();
  for (const row of rows) {
    const name = nameOf(row);
    const known = totals.get(name);
    totals.set(name, known === undefined ? { ...row, name } : added(known, row));
  }
  return [...totals.values()];
}

function added(total: Total, row: Row): Total {
  return {
    name: total.name,
    requests: total.requests + row.requests,
    writes: total.writes + row.writes,
    read_units: total.read_units + row.read_units,
    write_units: total.write_units + row.write_units,
    function_ms: total.function_ms + row.function_ms,
    cost_usd: sum([total.cost_usd, row.cost_usd]),
  };
}

function dearest(totals: readonly Total[]): Total[] {
  return totals.toSorted((one, other) => Number(other.cost_usd) - Number(one.cost_usd));
}

/** Dollars with six decimals: the cost of a request is some millionths. */
function dollars(text: string): string {
  return `${grouped(text.slice(0, -3))} USD`;
}
