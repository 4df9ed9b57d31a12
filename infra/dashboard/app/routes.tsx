import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
} from "@tanstack/react-router";
import type { Search } from "./parts/address.ts";
import { FailedPage } from "./parts/states-of-page.tsx";
import { Go } from "./parts/values.tsx";
import { Shell } from "./shell/shell.tsx";

/** A page: its path, the parameters that its address may have, and the file that shows it. */
interface PageRow {
  readonly path: string;
  readonly search?: readonly string[];
  readonly component: RouteComponent;
}

/** Every page. Its file is loaded when it is opened, so a new one costs the others nothing. */
const pages: readonly PageRow[] = [
  { path: "/", component: lazyRouteComponent(() => import("./pages/home.tsx"), "HomePage") },
  {
    path: "/approvals",
    search: ["open", "kind", "account_id", "client_id"],
    component: lazyRouteComponent(() => import("./pages/money/approvals.tsx"), "ApprovalsPage"),
  },
  {
    path: "/compliance",
    search: ["kind", "open"],
    component: lazyRouteComponent(() => import("./pages/customers/compliance.tsx"), "CompliancePage"),
  },
  {
    path: "/margin-watch",
    search: ["margin_status"],
    component: lazyRouteComponent(() => import("./pages/trading/margin-watch.tsx"), "MarginWatchPage"),
  },
  {
    path: "/clients",
    search: [
      ...["status", "verification_status", "country", "email", "external_id", "tag"],
      ...["created_from", "created_to"],
    ],
    component: lazyRouteComponent(() => import("./pages/customers/clients.tsx"), "ClientsPage"),
  },
  {
    path: "/clients/$id",
    search: ["tab"],
    component: lazyRouteComponent(() => import("./pages/customers/client.tsx"), "ClientPage"),
  },
  {
    path: "/accounts",
    search: ["status", "margin_status", "type", "currency", "number", "platform_login", "group_id"],
    component: lazyRouteComponent(() => import("./pages/customers/accounts.tsx"), "AccountsPage"),
  },
  {
    path: "/accounts/$id",
    search: ["tab", "open_from", "open_to", "close_from", "close_to"],
    component: lazyRouteComponent(() => import("./pages/customers/account.tsx"), "AccountPage"),
  },
  {
    path: "/accounts/$id/statement",
    search: ["from", "to"],
    component: lazyRouteComponent(() => import("./pages/customers/statement.tsx"), "StatementPage"),
  },
  {
    path: "/reports",
    search: ["report", "from", "to", "account_type"],
    component: lazyRouteComponent(() => import("./pages/money/reports.tsx"), "ReportsPage"),
  },
  {
    path: "/transactions",
    search: [
      ...["open", "status", "kind", "method", "currency", "external_id", "provider_reference"],
      ...["completed_from", "completed_to"],
    ],
    component: lazyRouteComponent(() => import("./pages/money/transactions.tsx"), "TransactionsPage"),
  },
  {
    path: "/symbols",
    search: ["open", "asset_class", "trading_mode", "market_status"],
    component: lazyRouteComponent(() => import("./pages/trading/symbols.tsx"), "SymbolsPage"),
  },
  {
    path: "/exposure",
    search: ["account_type"],
    component: lazyRouteComponent(() => import("./pages/trading/exposure.tsx"), "ExposurePage"),
  },
  { path: "/feeds", component: lazyRouteComponent(() => import("./pages/trading/feeds.tsx"), "FeedsPage") },
  {
    path: "/feeds/$id",
    search: ["tab", "status", "open"],
    component: lazyRouteComponent(() => import("./pages/trading/feed.tsx"), "FeedPage"),
  },
  {
    path: "/webhooks",
    search: ["status"],
    component: lazyRouteComponent(() => import("./pages/integration/webhooks.tsx"), "WebhooksPage"),
  },
  {
    path: "/webhooks/$id",
    search: ["open", "status", "event_type"],
    component: lazyRouteComponent(() => import("./pages/integration/webhook.tsx"), "WebhookPage"),
  },
  {
    path: "/deliveries/$id",
    component: lazyRouteComponent(() => import("./pages/integration/delivery.tsx"), "DeliveryPage"),
  },
  {
    path: "/events",
    search: ["open", "type", "resource_id", "account_id", "client_id"],
    component: lazyRouteComponent(() => import("./pages/integration/events.tsx"), "EventsPage"),
  },
  {
    path: "/audit",
    search: ["open", "outcome", "action", "actor", "resource"],
    component: lazyRouteComponent(() => import("./pages/control/audit.tsx"), "AuditPage"),
  },
  {
    path: "/usage",
    search: ["days"],
    component: lazyRouteComponent(() => import("./pages/control/usage.tsx"), "UsagePage"),
  },
  {
    path: "/exports",
    search: ["open", "new", "with", "type", "status"],
    component: lazyRouteComponent(() => import("./pages/money/exports.tsx"), "ExportsPage"),
  },
  {
    path: "/operators",
    search: ["open", "status"],
    component: lazyRouteComponent(() => import("./pages/control/operators.tsx"), "OperatorsPage"),
  },
  { path: "/settings", component: lazyRouteComponent(() => import("./pages/control/settings.tsx"), "SettingsPage") },
  {
    path: "/settings/api",
    search: ["status"],
    component: lazyRouteComponent(() => import("./pages/control/applications.tsx"), "ApplicationsPage"),
  },
  {
    path: "/settings/api/$id",
    component: lazyRouteComponent(() => import("./pages/control/application.tsx"), "ApplicationPage"),
  },
  {
    path: "/sandbox",
    search: ["account_id"],
    component: lazyRouteComponent(() => import("./pages/control/sandbox.tsx"), "SandboxPage"),
  },
];

/** Takes the texts that a page knows from its address; anything else in it is left out. */
function searchOf(names: readonly string[]) {
  return (raw: Record<string, unknown>): Search =>
    Object.fromEntries(
      names.flatMap((name) => (typeof raw[name] === "string" && raw[name] !== "" ? [[name, raw[name]]] : [])),
    );
}

function NotFound() {
  return (
    <div className="empty">
      <h1>There is no such page</h1>
      <p className="dim">The address may be of an older version.</p>
      <Go to="/">Home</Go>
    </div>
  );
}

/** The router over all pages. Parameters of an address are plain texts, as those of the API are. */
export function makeRouter() {
  const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });
  const children = pages.map(({ path, search = [], component }) =>
    createRoute({ getParentRoute: () => root, path, validateSearch: searchOf(search), component }),
  );
  return createRouter({
    routeTree: root.addChildren(children),
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const query = new URLSearchParams(
        Object.entries(search).flatMap(([name, value]) => (value ? [[name, String(value)]] : [])),
      );
      return query.size === 0 ? "" : `?${query}`;
    },
    defaultPendingMs: 300,
    defaultErrorComponent: ({ error, reset }) => <FailedPage error={error} again={reset} />,
  });
}
