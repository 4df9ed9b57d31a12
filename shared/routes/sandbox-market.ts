import { SandboxPrices, SetSandboxPrices } from "../schema/sandbox.ts";
import { route } from "./route.ts";

/** `POST /sandbox/prices` */
export const setSandboxPrices = route({
  id: "set_sandbox_prices",
  method: "POST",
  path: "/sandbox/prices",
  tag: "Sandbox",
  summary: "Set prices",
  description:
    "The market of the sandbox is your own: a price moves when you move it and holds until then. Name the bid, the " +
    "ask or both; a side alone keeps the spread. Either all prices are possible or none is set.",
  file: "sandbox/set-prices",
  auth: "token",
  scope: "sandbox",
  rate: "standard",
  grants: ["read", "read:quotes", "put:quotes"],
  body: SetSandboxPrices,
  named: true,
  reply: SandboxPrices,
  status: 200,
  example: { prices: [{ symbol: "EURUSD", bid: "1.08500" }] },
  refusals: ["symbol_not_found", "market_closed"],
  emits: [],
  stages: ["sandbox"],
});

/** Rows of the sandbox's own market. */
export const sandboxMarketRoutes = [setSandboxPrices] as const;
