import { open } from "../../shared/http/open.ts";
import { type AsyncApi, narrowAsync } from "../../shared/openapi/stream/async-document.ts";
import document from "../../shared/openapi/stream/asyncapi.json" with { type: "json" };
import { getAsyncApi } from "../../shared/routes/service.ts";
import { sha256 } from "../../shared/runtime/digest.ts";
import { env } from "../../shared/runtime/env.ts";

const narrowed = narrowAsync(document as unknown as AsyncApi, { stage: env.stage, streamUrl: env.streamUrl });
const body = JSON.stringify(narrowed);
// Once it is large enough for the gateway to compress it, one tag stands for two codings (RFC 9110 8.8.3.3).
const tag = `W/"${sha256(body).slice(0, 16)}"`;

/** `GET /asyncapi.json` */
export const handler = open(getAsyncApi, async () => ({
  status: 200,
  headers: {
    "Content-Type": "application/json",
    "Cache-Control": "public, max-age=300",
    ETag: tag,
    Vary: "Accept-Encoding",
  },
  body,
}));
