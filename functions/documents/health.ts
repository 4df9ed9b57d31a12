import { open } from "../../shared/http/open.ts";
import { getHealth } from "../../shared/routes/service.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { env } from "../../shared/runtime/env.ts";

/** `GET /health` */
export const handler = open(getHealth, async () => ({
  status: 200,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ status: "ok", environment: env.stage, time: nowIso() }),
}));
