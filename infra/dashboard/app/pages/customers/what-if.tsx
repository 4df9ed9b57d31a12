import { useState } from "react";
import { post } from "../../api/client.ts";
import type { Schemas } from "../../api/types.ts";
import { type Entered, FormDialog, textOf } from "../../parts/form-dialog.tsx";
import { grouped } from "../../parts/format.ts";
import { Mark, Status } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";

type Account = Schemas["TradingAccount"];
type Preview = Schemas["MarginPreview"];

/** Tries a trade, a withdrawal or another leverage. Nothing is changed; the answer stands under the form. */
export function WhatIf({ account, onClose }: { readonly account: Account; readonly onClose: () => void }) {
  const [tried, setTried] = useState<{ readonly entered: string; readonly preview: Preview }>();
  return (
    <FormDialog<{ readonly entered: string; readonly preview: Preview }>
      title={`What if: account ${account.number}`}
      wide
      keepOpen
      intro={<p className="dim">Tries it at the latest prices. Nothing is booked.</p>}
      fields={[
        { name: "symbol", label: "Trade in", placeholder: "EURUSD", optional: true },
        { name: "side", label: "Side", kind: "choice", values: ["buy", "sell"], first: "buy" },
        { name: "lots", label: "Lots", placeholder: "1.00", optional: true },
        { name: "withdrawal", label: `Withdrawal in ${account.currency}`, optional: true },
        { name: "leverage", label: `Leverage, now ${account.leverage}`, optional: true },
      ]}
      submit="Try"
      more={(entered) => tried?.entered === JSON.stringify(entered) && <Tried preview={tried.preview} />}
      run={async (entered) => {
        const path = { id: account.id };
        const preview = await post<Preview>("/accounts/{id}/margin_preview", { path }, bodyOf(entered));
        return { entered: JSON.stringify(entered), preview };
      }}
      onDone={setTried}
      onClose={onClose}
    />
  );
}

function bodyOf(entered: Entered): Schemas["MarginPreviewRequest"] {
  const [symbol, side, lots] = ["symbol", "side", "lots"].map((name) => textOf(entered, name));
  const [withdrawal, leverage] = ["withdrawal", "leverage"].map((name) => textOf(entered, name));
  return {
    ...(withdrawal && { withdrawal }),
    ...(leverage && { leverage: Number(leverage) }),
    ...((symbol || lots) && {
      opens: [{ symbol: symbol ?? "", side: side === "sell" ? "sell" : "buy", lots: lots ?? "" }],
    }),
  };
}

interface Figure {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
}

const shown = (value: string | null) => (value === null ? "–" : grouped(value));

const figureColumns: readonly Column<Figure>[] = [
  { head: "Figure", small: "name", cell: ({ name }) => name },
  { head: "Now", width: 150, right: true, small: "age", cell: ({ before }) => shown(before) },
  {
    head: "After",
    width: 150,
    right: true,
    small: "amount",
    cell: ({ before, after }) => <span className={before === after ? undefined : "strong"}>{shown(after)}</span>,
  },
];

const firstColumns: readonly Column<First>[] = [
  { head: "First price", small: "name", cell: ({ name }) => name },
  { head: "Bid", width: 150, right: true, small: "amount", cell: ({ bid }) => bid },
];

/** A price at which something happens to the account. */
interface First {
  readonly name: string;
  readonly bid: string;
}

const states = { margin_call: "margin call", stop_out: "stop-out" } as const;

function firstOf({ symbol, ...ways }: Preview["first_prices"][number]): First[] {
  return (["down", "up"] as const).flatMap((way) =>
    (["margin_call", "stop_out"] as const).flatMap((state) => {
      const price = ways[way][state];
      const name = `${symbol} ${way === "down" ? "falls to" : "rises to"}: ${states[state]}`;
      return price === null ? [] : [{ name, bid: price.bid }];
    }),
  );
}

function Tried({ preview: { before, after, refusals, first_prices } }: { readonly preview: Preview }) {
  const figures = (["balance", "equity", "used_margin", "free_margin", "margin_level", "withdrawable"] as const).map(
    (name) => ({ name: words[name], before: before[name], after: after[name] }),
  );
  const first = first_prices.flatMap(firstOf);
  return (
    <div role="status" className="form">
      {refusals.map(({ pointer, code, detail }) => (
        <div key={`${pointer} ${code}`} className="notice warning">
          <Mark shape="triangle" tone="warn" />
          <p>
            <strong>It would be refused now.</strong> {detail}
          </p>
        </div>
      ))}
      <p>
        After it the account is <Status state={after.margin_status} />
      </p>
      <Table
        caption="The account now and after"
        rows={figures}
        columns={figureColumns}
        idOf={({ name }) => name}
        dense
      />
      {first.length > 0 && (
        <Table
          caption="First prices of a margin call and a stop-out"
          rows={first}
          columns={firstColumns}
          idOf={({ name }) => name}
          dense
        />
      )}
    </div>
  );
}

const words = {
  balance: "Balance",
  equity: "Equity",
  used_margin: "Used margin",
  free_margin: "Free margin",
  margin_level: "Margin level, %",
  withdrawable: "Withdrawable",
} as const;
