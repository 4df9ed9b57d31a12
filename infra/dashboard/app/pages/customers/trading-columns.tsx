import type { Schemas } from "../../api/types.ts";
import { grouped, inWords } from "../../parts/format.ts";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Clock, Maybe, Profit } from "../../parts/values.tsx";

const price = (value: string | null) => <Maybe value={value} />;

/** Open positions. */
export const positionColumns: readonly Column<Schemas["Position"]>[] = [
  { head: "Symbol", key: true, small: "name", cell: ({ symbol }) => symbol },
  { head: "Side", width: 52, small: "purpose", cell: ({ side }) => side },
  { head: "Lots", width: 60, right: true, small: "age", cell: ({ lots }) => lots },
  { head: "Open", width: 78, right: true, cell: ({ open_price }) => open_price },
  { head: "Now", width: 78, right: true, cell: ({ current_price }) => price(current_price) },
  { head: "Stop loss", width: 78, right: true, wide: true, cell: ({ stop_loss }) => price(stop_loss) },
  { head: "Take profit", width: 84, right: true, wide: true, cell: ({ take_profit }) => price(take_profit) },
  { head: "Margin", width: 92, right: true, cell: ({ used_margin }) => grouped(used_margin) },
  { head: "Swap", width: 60, right: true, wide: true, cell: ({ swap }) => grouped(swap) },
  {
    head: "Floating P/L",
    width: 96,
    right: true,
    small: "amount",
    cell: ({ floating_pnl }) => <Profit amount={floating_pnl} />,
  },
];

/** Trades, open and closed. */
export const tradeColumns: readonly Column<Schemas["Trade"]>[] = [
  { head: "Symbol", key: true, small: "name", cell: ({ symbol }) => symbol },
  { head: "Side", width: 52, cell: ({ side }) => side },
  { head: "Lots", width: 60, right: true, cell: ({ lots }) => lots },
  { head: "Status", width: 84, small: "purpose", cell: ({ status }) => inWords(status) },
  { head: "Opened", width: 100, right: true, small: "age", cell: ({ open_at }) => <Clock at={open_at} /> },
  { head: "Open", width: 78, right: true, wide: true, cell: ({ open_price }) => open_price },
  { head: "Close", width: 78, right: true, cell: ({ close_price }) => price(close_price) },
  {
    head: "Why",
    width: 104,
    wide: true,
    cell: ({ close_reason }) => <Maybe value={close_reason && inWords(close_reason)} />,
  },
  {
    head: "Net P/L",
    width: 96,
    right: true,
    small: "amount",
    cell: ({ net_pnl }) => (net_pnl === null ? <Maybe value={null} /> : <Profit amount={net_pnl} />),
  },
];

/** Pending orders and those that have ended. */
export const orderColumns: readonly Column<Schemas["Order"]>[] = [
  { head: "Symbol", key: true, small: "name", cell: ({ symbol }) => symbol },
  { head: "Type", width: 84, cell: ({ type }) => inWords(type) },
  { head: "Side", width: 52, cell: ({ side }) => side },
  { head: "Lots", width: 60, right: true, small: "amount", cell: ({ lots }) => lots },
  { head: "Status", width: 112, small: "purpose", cell: ({ status }) => <Status state={status} /> },
  { head: "Price", width: 84, right: true, cell: ({ price: limit, stop_price }) => price(limit ?? stop_price) },
  { head: "Stop loss", width: 78, right: true, wide: true, cell: ({ stop_loss }) => price(stop_loss) },
  { head: "Take profit", width: 84, right: true, wide: true, cell: ({ take_profit }) => price(take_profit) },
  { head: "Created", width: 100, right: true, small: "age", cell: ({ created_at }) => <Clock at={created_at} /> },
];

/** Entries of a ledger. */
export const ledgerColumns: readonly Column<Schemas["LedgerEntry"]>[] = [
  { head: "UTC", width: 120, key: true, small: "age", cell: ({ created_at }) => <Clock at={created_at} /> },
  { head: "Kind", small: "name", cell: ({ kind }) => inWords(kind) },
  { head: "Of", width: 80, small: "purpose", cell: ({ moves }) => inWords(moves) },
  { head: "Amount", width: 130, right: true, small: "amount", cell: ({ amount }) => grouped(amount) },
  { head: "Before", width: 130, right: true, cell: ({ balance_before }) => grouped(balance_before) },
  { head: "After", width: 130, right: true, cell: ({ balance_after }) => grouped(balance_after) },
];
