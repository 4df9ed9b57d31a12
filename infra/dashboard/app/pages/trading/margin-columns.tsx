import type { Schemas } from "../../api/types.ts";
import { grouped, shortId } from "../../parts/format.ts";
import { Mark, Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Money, Waiting } from "../../parts/values.tsx";
import { Named } from "../customers/client-column.tsx";

type Watched = Schemas["WatchedAccount"];

const tones: Readonly<Record<string, string>> = {
  stop_out: "bad strong",
  margin_call: "warn strong",
  normal: "strong",
};

/** Columns of the accounts by their margin level, the lowest first. */
export const marginColumns: readonly Column<Watched>[] = [
  { head: "Status", width: 126, small: "purpose", cell: ({ margin_status }) => <Status state={margin_status} /> },
  {
    head: "Account",
    key: true,
    small: "name",
    cell: ({ account_id, client }) => <Named client={client} id={shortId(account_id)} />,
  },
  { head: "Equity", width: 106, right: true, cell: ({ equity }) => <Money amount={equity} /> },
  {
    head: "Used margin",
    width: 138,
    right: true,
    cell: ({ used_margin, currency }) => <Money amount={used_margin} currency={currency} />,
  },
  {
    head: "Price age",
    width: 80,
    right: true,
    small: "age",
    cell: ({ metrics_as_of, metrics_stale }) =>
      metrics_stale ? (
        <span className="with-icon warn">
          <Mark shape="triangle" tone="warn" />
          <Waiting since={metrics_as_of} />
        </span>
      ) : (
        <Waiting since={metrics_as_of} />
      ),
  },
  {
    head: "Level %",
    width: 94,
    right: true,
    small: "amount",
    cell: ({ margin_level, margin_status }) => (
      <span className={tones[margin_status]}>{margin_level === null ? "–" : grouped(margin_level)}</span>
    ),
  },
];
