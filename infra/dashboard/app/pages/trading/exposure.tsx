import { useResource } from "../../api/data.ts";
import { problemOf } from "../../api/problem.ts";
import type { Answer } from "../../api/types.ts";
import { useAddress } from "../../parts/address.ts";
import { Filters } from "../../parts/filters.tsx";
import { grouped, signed, sum } from "../../parts/format.ts";
import { PageHead, Panel } from "../../parts/page.tsx";
import { Empty, FailedPage } from "../../parts/states-of-page.tsx";
import { Mark } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Age, Profit } from "../../parts/values.tsx";

type Exposure = Answer<"/exposure">;
type Side = Exposure["data"][number];

/** One symbol with the lots of both sides. */
interface Row {
  readonly symbol: string;
  readonly net: string;
  readonly buy: Side | undefined;
  readonly sell: Side | undefined;
}

const filters = [{ name: "account_type", label: "Accounts", values: ["demo"], none: "Live" }] as const;

/** A sum that is older was not followed by the next one. */
const lateSeconds = 120;

/** Open lots of the brokerage by symbol, summed once a minute. */
export function ExposurePage() {
  const [search] = useAddress();
  const account_type = search["account_type"] === "demo" ? "demo" : "live";
  const { data, error, refetch } = useResource("/exposure", { query: { account_type } });
  if (error && data === undefined) {
    if (problemOf(error).code !== "not_ready") return <FailedPage error={error} again={() => void refetch()} />;
    return (
      <>
        <PageHead title="Exposure" />
        <Empty empty={{ title: "The positions are being summed", text: "The first figures appear within a minute." }} />
      </>
    );
  }
  return (
    <>
      <PageHead title="Exposure" note={data && <Summed exposure={data} />} />
      <Filters filters={filters} />
      {data && <BySymbol exposure={data} />}
    </>
  );
}

function Summed({ exposure: { as_of, age_seconds } }: { readonly exposure: Exposure }) {
  const late = age_seconds > lateSeconds;
  return (
    <span className={late ? "with-icon warn" : "with-icon dim"}>
      {late && <Mark shape="triangle" tone="warn" />}
      <span>
        positions of <Age at={as_of} />, prices of now
      </span>
    </span>
  );
}

function BySymbol({ exposure: { data, net } }: { readonly exposure: Exposure }) {
  if (data.length === 0) return <Empty empty={{ title: "No open positions", text: "Open lots appear here." }} />;
  const rows = net.map(({ symbol, lots }): Row => {
    const of = (wanted: string) => data.find((one) => one.symbol === symbol && one.side === wanted);
    return { symbol, net: lots, buy: of("buy"), sell: of("sell") };
  });
  return (
    <Panel>
      <Table
        caption="Open lots by symbol"
        rows={rows}
        columns={columns}
        idOf={({ symbol }) => symbol}
        to={({ symbol }) => `/symbols?open=${encodeURIComponent(symbol)}`}
      />
    </Panel>
  );
}

const lotsOf = (side: Side | undefined) => (side === undefined ? "–" : grouped(side.lots));
const averageOf = (side: Side | undefined) => (
  <span className="dim">{side === undefined ? "–" : side.average_price}</span>
);

const columns: readonly Column<Row>[] = [
  { head: "Symbol", key: true, small: "name", cell: ({ symbol }) => symbol },
  { head: "Bought", width: 110, right: true, cell: ({ buy }) => lotsOf(buy) },
  { head: "Bought at", width: 120, right: true, wide: true, cell: ({ buy }) => averageOf(buy) },
  { head: "Sold", width: 110, right: true, cell: ({ sell }) => lotsOf(sell) },
  { head: "Sold at", width: 120, right: true, wide: true, cell: ({ sell }) => averageOf(sell) },
  {
    head: "Net lots",
    width: 120,
    right: true,
    small: "amount",
    cell: ({ net }) => <span className="strong">{signed(net)}</span>,
  },
  {
    head: "Positions",
    width: 100,
    right: true,
    cell: ({ buy, sell }) => grouped(String((buy?.positions ?? 0) + (sell?.positions ?? 0))),
  },
  { head: "Floating P/L", width: 190, right: true, small: "age", cell: (row) => <Floating row={row} /> },
];

function Floating({ row: { buy, sell } }: { readonly row: Row }) {
  const sides = [buy, sell].filter((side) => side !== undefined);
  const known = sides.flatMap(({ floating_pnl }) => floating_pnl ?? []);
  if (known.length < sides.length) return <span className="faint">no price</span>;
  return (
    <span className="amount">
      <Profit amount={rounded(sum(known))} />
      <span className="currency">{sides[0]?.currency}</span>
    </span>
  );
}

/** With two decimals for the eye; what the API says is exact. */
function rounded(text: string): string {
  const [whole = "", part = ""] = text.split(".");
  return part.length <= 2 ? text : `${whole}.${part.slice(0, 2)}`;
}
