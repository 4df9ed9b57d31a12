import {
  type Prices,
  priceList,
  priceListOf,
  pricesOf,
  pricesReadOn,
  type Region,
} from "../../../shared/domain/usage/prices.ts";
import { routes } from "../../../shared/routes/index.ts";
import type { Stage } from "../../../shared/routes/route.ts";
import { type Amounts, dollarsOf } from "./amounts.ts";
import type { MonthlyTraffic } from "./mix.ts";
import { idleMonth, type Line, monthOf, totalOf } from "./month.ts";
import type { CostedStage } from "./template.ts";
import { traffic } from "./traffic.ts";
import type { MeasuredUnits } from "./units.ts";
import { batchedAmounts, deliveryAmounts, eventAmounts, requestAmounts, tickAmounts, tradingAmounts } from "./work.ts";

/** Something that is priced by the million. */
export interface Priced {
  readonly name: string;
  /** Use of a million of it, in the units of the prices. */
  readonly amounts: Amounts;
  /** Dollars of a million. */
  readonly dollars: number;
}

/** Items that runs read in batches: their name, the function, and what one takes. */
const batches = [
  [
    "accounts in a nightly reconciliation, 20 ledger entries each",
    ...(["reconcile-books", traffic.reconciled_account] as const),
  ],
  ["rows of transactions, trades or clients in an export", "run-jobs", traffic.exported_row],
  ["the same with account numbers and client names", "run-jobs", traffic.named_row],
  ["accounts in an export of balances", "run-jobs", traffic.exported_balance],
] as const;

/** Everything that the command says of one stage. Dollars are US dollars before taxes. */
export interface Bill {
  readonly stage: Stage;
  readonly region: Region;
  readonly prices_read_on: string;
  /** Addresses of the public price lists. */
  readonly price_lists: readonly string[];
  readonly units_counted_on: string;
  /** Requests of each route of the stage, by the dearest first. */
  readonly routes: readonly Priced[];
  readonly events: readonly Priced[];
  readonly others: readonly Priced[];
  readonly trading: readonly Priced[];
  readonly idle_month: { readonly lines: readonly Line[]; readonly dollars: number };
  readonly month: { readonly traffic: MonthlyTraffic; readonly lines: readonly Line[]; readonly dollars: number };
}

/** Endpoints of the events that are shown. */
const shownEndpoints = [0, 1, 2, 5, 20];

/** The whole bill of a stage. */
export function billOf(given: {
  readonly stage: Stage;
  readonly costed: CostedStage;
  readonly units: MeasuredUnits;
  readonly region: Region;
  readonly traffic: MonthlyTraffic;
}): Bill {
  const { stage, costed, units, region, traffic } = given;
  const prices = pricesOf(region);
  const idle = idleMonth(costed, units, prices);
  const lines = monthOf(costed, units, prices, traffic);
  const services = [...new Set(Object.values(priceList).map(({ service }) => service))];
  return {
    ...{ stage, region, prices_read_on: pricesReadOn, units_counted_on: units.counted_on },
    price_lists: services.map((service) => priceListOf(service, region)),
    routes: routes
      .filter(({ stages }) => stages.includes(stage))
      .map((row) => pricedAs(row.id, requestAmounts(costed, row, units), prices))
      .sort((one, other) => other.dollars - one.dollars),
    events: shownEndpoints.map((count) =>
      pricedAs(
        `event to ${count} ${count === 1 ? "endpoint" : "endpoints"}`,
        eventAmounts(costed, units, count),
        prices,
      ),
    ),
    others: [
      pricedAs("one delivery more", deliveryAmounts(costed, units), prices),
      ...units.ticks.map((tick) =>
        pricedAs(
          `price, ${tick.prices_per_request} in a request, with an account to watch`,
          tickAmounts(costed, tick),
          prices,
        ),
      ),
      ...batches.map(([name, id, one]) => pricedAs(name, batchedAmounts(costed, id, one), prices)),
    ],
    trading: units.trading.map((each) => pricedAs(each.name, tradingAmounts(each), prices)),
    idle_month: { lines: idle, dollars: totalOf(idle) },
    month: { traffic, lines, dollars: totalOf(lines) },
  };
}

function pricedAs(name: string, amounts: Amounts, prices: Prices): Priced {
  return { name, amounts, dollars: dollarsOf(amounts, prices) };
}
