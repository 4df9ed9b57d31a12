import { AsyncApiDocument, Health, Me, OpenApiDocument, RateLimits } from "../schema/service.ts";
import { Settings, UpdateSettingsRequest } from "../schema/settings.ts";
import { route } from "./route.ts";

/** `GET /me` */
export const getMe = route({
  id: "get_me",
  method: "GET",
  path: "/me",
  tag: "Service",
  summary: "Get the current application or operator",
  description: "The holder of the token, with its scopes and rate limits. A good first request with a new token.",
  file: "applications/me",
  scope: null,
  grants: ["read"],
  reply: Me,
  refusals: ["not_found"],
});

/** `GET /status/limits` */
export const getLimits = route({
  id: "get_limits",
  method: "GET",
  path: "/status/limits",
  tag: "Service",
  summary: "Get the rate limits and what is left of them",
  description:
    "The windows that the requests of the caller count against, with what is left of each. The request itself counts " +
    "against `minute` and `burst`; that of an operator against `burst` only. Every answer has the window of its own " +
    "request in `X-RateLimit-Remaining`, so a client needs this only for the other windows.",
  file: "applications/get-limits",
  scope: null,
  grants: [],
  reply: RateLimits,
});

/** `GET /settings` */
export const getSettings = route({
  id: "get_settings",
  method: "GET",
  path: "/settings",
  tag: "Service",
  summary: "Get the settings of the brokerage",
  description: "Settings that apply to all clients and accounts of the brokerage.",
  file: "applications/get-settings",
  scope: "settings:read",
  grants: ["read"],
  reply: Settings,
});

/** `PATCH /settings` */
export const updateSettings = route({
  id: "update_settings",
  method: "PATCH",
  path: "/settings",
  tag: "Service",
  summary: "Update the settings of the brokerage",
  description:
    "A merge patch (RFC 7396). Changes apply to future decisions, not to decisions already made. " +
    "An operator must be an owner. While the brokerage has two active owners, a change of `approval_rules` or " +
    "`four_eyes` is a proposal until another owner sends the same value within 72 hours.",
  file: "applications/update-settings",
  scope: "settings:write",
  governs: ["brokerages"],
  standing: "read",
  grants: ["read", "query", "put", "update"],
  body: UpdateSettingsRequest,
  media: "merge_patch",
  reply: Settings,
  example: { four_eyes: true },
  refusals: ["insufficient_scope", "four_eyes_required"],
});

/** `GET /openapi.json` */
export const getOpenApi = route({
  id: "get_openapi",
  method: "GET",
  path: "/openapi.json",
  tag: "Service",
  summary: "Download the OpenAPI 3.0 description",
  description:
    "This document for programs, with the URL of this stage: without examples and links, and with `default` for the " +
    "refusals of every operation. No token is required, so that tools can fetch it.",
  file: "documents/openapi",
  auth: "none",
  scope: null,
  rate: "none",
  grants: [],
  reply: OpenApiDocument,
});

/** `GET /asyncapi.json` */
export const getAsyncApi = route({
  id: "get_asyncapi",
  method: "GET",
  path: "/asyncapi.json",
  tag: "Service",
  summary: "Download the AsyncAPI 3.0 description of the stream",
  description:
    "Messages of the WebSocket stream with their schemas and examples, and the address of the stream of this stage. " +
    "No token is required, so that tools can fetch it.",
  file: "documents/asyncapi",
  auth: "none",
  scope: null,
  rate: "none",
  grants: [],
  stream: true,
  reply: AsyncApiDocument,
});

/** `GET /health` */
export const getHealth = route({
  id: "get_health",
  method: "GET",
  path: "/health",
  tag: "Service",
  summary: "Health check",
  description: "Confirms that the API receives and answers requests. It does not check the components behind the API.",
  file: "documents/health",
  auth: "none",
  scope: null,
  rate: "none",
  grants: [],
  reply: Health,
});

/** Rows of the service itself. */
export const serviceRoutes = [
  getMe,
  getLimits,
  getSettings,
  updateSettings,
  getOpenApi,
  getAsyncApi,
  getHealth,
] as const;
