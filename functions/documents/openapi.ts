import { open } from "../../shared/http/open.ts";
import { narrow, type OpenApi } from "../../shared/openapi/document.ts";
import { lean } from "../../shared/openapi/lean.ts";
import document from "../../shared/openapi/openapi.json" with { type: "json" };
import { getOpenApi } from "../../shared/routes/service.ts";
import { sha256 } from "../../shared/runtime/digest.ts";
import { env } from "../../shared/runtime/env.ts";

const narrowed = narrow(document as unknown as OpenApi, { stage: env.stage, serverUrl: env.publicBaseUrl });
const body = JSON.stringify(lean(narrowed));
// The gateway compresses the answer, so one tag stands for two codings and must be weak (RFC 9110 8.8.3.3).
const tag = `W/"${sha256(body).slice(0, 16)}"`;

/** `GET /openapi.json` */
export const handler = open(getOpenApi, async () => ({
  status: 200,
  headers: {
    "Content-Type": "application/json",
    "Cache-Control": "public, max-age=300",
    ETag: tag,
    Vary: "Accept-Encoding",
  },
  body,
}));
