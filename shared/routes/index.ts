import { accountRoutes } from "./accounts.ts";
import { applicationRoutes } from "./applications.ts";
import { approvalRoutes } from "./approvals.ts";
import { auditRoutes } from "./audit.ts";
import { clientRoutes } from "./clients.ts";
import { commandRoutes } from "./commands.ts";
import { driftRoutes } from "./drift.ts";
import { eventRoutes } from "./events.ts";
import { feedRoutes } from "./feed.ts";
import { jobRoutes } from "./jobs.ts";
import { marketRoutes } from "./market.ts";
import { oauthRoutes } from "./oauth.ts";
import { operatorRoutes } from "./operators.ts";
import { reportRoutes } from "./reports.ts";
import type { Route } from "./route.ts";
import { sandboxRoutes } from "./sandbox.ts";
import { sandboxMarketRoutes } from "./sandbox-market.ts";
import { serviceRoutes } from "./service.ts";
import { streamRoutes } from "./stream.ts";
import { tradingRoutes } from "./trading.ts";
import { transactionRoutes } from "./transactions.ts";
import { webhookRoutes } from "./webhooks.ts";

/** The route table: every endpoint of the service, in the order of the documentation. */
export const routes: readonly Route[] = [
  ...oauthRoutes,
  ...clientRoutes,
  ...accountRoutes,
  ...transactionRoutes,
  ...approvalRoutes,
  ...tradingRoutes,
  ...marketRoutes,
  ...feedRoutes,
  ...commandRoutes,
  ...driftRoutes,
  ...eventRoutes,
  ...auditRoutes,
  ...reportRoutes,
  ...jobRoutes,
  ...webhookRoutes,
  ...streamRoutes,
  ...applicationRoutes,
  ...operatorRoutes,
  ...sandboxMarketRoutes,
  ...sandboxRoutes,
  ...serviceRoutes,
];
