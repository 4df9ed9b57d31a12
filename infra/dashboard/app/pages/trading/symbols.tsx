import { useList, useResource } from "../../api/data.ts";
import { useChannels } from "../../api/live.ts";
import type { Schemas } from "../../api/types.ts";
import { addressWith, useAddress } from "../../parts/address.ts";
import { Filters, queryOf } from "../../parts/filters.tsx";
import { inWords } from "../../parts/format.ts";
import { moveInRows, useKeys } from "../../parts/keys.ts";
import { Rows, Split } from "../../parts/list.tsx";
import { OpenedHead, PageHead, Pairs, Panel } from "../../parts/page.tsx";
import { Failed } from "../../parts/states-of-page.tsx";
import { Mark, Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Age, Maybe } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";

type TradingSymbol = Schemas["TradingSymbol"];
type Quote = Schemas["Quote"];

const filters = [
  { name: "asset_class", label: "Class", values: ["forex", "metal", "index", "commodity", "crypto", "equity"] },
  { name: "trading_mode", label: "Trading", values: ["enabled", "close_only", "disabled"] },
  { name: "market_status", label: "Market", values: ["open", "closed", "halted"] },
] as const;

const mostQuotes = 50;

function columnsWith(quotes: ReadonlyMap<string, Quote>): readonly Column<TradingSymbol>[] {
  const quoteOf = ({ symbol }: TradingSymbol) => quotes.get(symbol);
  return [
    { head: "Symbol", width: 110, key: true, small: "name", cell: ({ symbol }) => symbol },
    {
      head: "Description",
      wide: true,
      small: "purpose",
      cell: ({ description }) => <span className="dim">{description}</span>,
    },
    { head: "Class", width: 96, cell: ({ asset_class }) => inWords(asset_class) },
    {
      head: "Market",
      width: 90,
      cell: ({ market_status }) => (
        <Status state={market_status === "open" ? "open_market" : market_status} word={inWords(market_status)} />
      ),
    },
    { head: "Bid", width: 86, right: true, small: "amount", cell: (row) => <Maybe value={quoteOf(row)?.bid} /> },
    { head: "Ask", width: 86, right: true, cell: (row) => <Maybe value={quoteOf(row)?.ask} /> },
    { head: "Spread", width: 66, right: true, cell: (row) => <Maybe value={quoteOf(row)?.spread_points} /> },
    { head: "Age", width: 146, right: true, small: "age", cell: (row) => <QuoteAge quote={quoteOf(row)} /> },
  ];
}

function QuoteAge({ quote }: { readonly quote: Quote | undefined }) {
  if (quote === undefined) return <Maybe value={null} />;
  if (!quote.stale) return <Age at={quote.time} />;
  return (
    <span className="with-icon warn">
      <Mark shape="triangle" tone="warn" /> <Age at={quote.time} />
    </span>
  );
}

/** Tradable symbols, with the price of now and its age. */
export function SymbolsPage() {
  const [search, change] = useAddress();
  const may = useMay();
  const list = useList("/symbols", { query: { limit: mostQuotes } }, { filters: queryOf(filters, search) });
  const names = list.rows.slice(0, mostQuotes).map(({ symbol }) => symbol);
  const { data } = useResource(
    "/quotes",
    { query: { symbols: names.join(",") } },
    { enabled: may("quotes:read") && names.length > 0, keep: true },
  );
  useChannels(may("quotes:read") && names.length > 0 ? [{ name: "quotes", symbols: names, max_per_second: 2 }] : []);
  const quotes = new Map(data?.data.map((quote) => [quote.symbol, quote]));
  useKeys({ j: () => moveInRows(1), k: () => moveInRows(-1) });
  const opened = search["open"];
  return (
    <div className="full">
      <PageHead title="Symbols and quotes" />
      <Filters filters={filters} />
      <Split
        list={
          <Rows
            list={list}
            caption="Symbols"
            filters={filters}
            columns={columnsWith(quotes)}
            idOf={({ symbol }) => symbol}
            to={({ symbol }) => addressWith("/symbols", { ...search, open: symbol })}
            selected={opened}
            empty={{
              title: "No symbols",
              text: "Symbols come from a feed source (item symbol); a new brokerage of the sandbox has twenty.",
            }}
          />
        }
        opened={opened ? <SymbolPanel symbol={opened} onClose={() => change({ open: undefined })} /> : null}
      />
    </div>
  );
}

function SymbolPanel({ symbol, onClose }: { readonly symbol: string; readonly onClose: () => void }) {
  const { data, error, refetch } = useResource("/symbols/{symbol}", { path: { symbol } });
  useKeys({ Escape: onClose });
  if (error && data === undefined) return <Failed error={error} again={() => void refetch()} />;
  if (data === undefined) return null;
  const { commission, swap, sessions, zone } = data;
  return (
    <>
      <OpenedHead title={data.symbol} onClose={onClose} />
      <QuotePanel symbol={symbol} />
      <Panel title="Contract">
        <Pairs
          pairs={[
            ["Description", data.description],
            ["Trading", inWords(data.trading_mode)],
            ["Contract size", data.contract_size],
            ["Lots", `${data.lot_min} to ${data.lot_max} by ${data.lot_step}`],
            ["Digits", data.digits],
            ["Margin factor", data.margin_factor],
            ["Most leverage", data.max_leverage === null ? null : `1:${data.max_leverage}`],
            [
              "Commission",
              commission.type === "none"
                ? "None"
                : `${commission.amount} ${commission.currency} ${inWords(commission.type).toLowerCase()}`,
            ],
            [
              "Swap",
              swap.type === "none"
                ? "None"
                : `long ${swap.long}, short ${swap.short} (${inWords(swap.type).toLowerCase()})`,
            ],
            ["Next close", <Age key="close" at={data.next_close_at} none="–" />],
            ["Next open", <Age key="open" at={data.next_open_at} none="–" />],
          ]}
        />
      </Panel>
      <Panel title={`Sessions (${zone})`}>
        <Pairs pairs={sessions.map(({ day, open, close }) => [`${inWords(day)} ${open}`, `until ${close}`] as const)} />
      </Panel>
    </>
  );
}

function QuotePanel({ symbol }: { readonly symbol: string }) {
  const may = useMay();
  const { data } = useResource("/quotes/{symbol}", { path: { symbol } }, { enabled: may("quotes:read") });
  useChannels(may("quotes:read") ? [{ name: "quotes", symbols: [symbol], max_per_second: 2 }] : []);
  if (data === undefined) return null;
  return (
    <Panel title="Quote" side={<QuoteAge quote={data} />}>
      <Pairs
        pairs={[
          ["Bid", data.bid],
          ["Ask", data.ask],
          ["Day", `${data.day_low ?? "–"} to ${data.day_high ?? "–"}`],
          ["Source", data.source],
          ["Sequence", data.sequence],
        ]}
      />
    </Panel>
  );
}
