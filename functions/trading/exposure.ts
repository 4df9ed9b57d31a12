import { read } from "../../shared/http/operations.ts";
import { getExposure } from "../../shared/routes/trading.ts";
import { exposureNow } from "../../shared/trading/exposure-now.ts";

/** `GET /exposure` */
export const handler = await read(getExposure, ({ caller: { tenant_id }, query }) =>
  exposureNow(tenant_id, query["account_type"] === "demo" ? "demo" : "live"),
);
