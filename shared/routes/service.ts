import { Health, Me, OpenApiDocument } from "../schema/service.ts";
import { Settings, UpdateSettingsRequest } from "../schema/settings.ts";
import { route } from "./route.ts";

/** `GET /me` */
export const getMe = route({
  id: "get_me",
  method: "GET",
  path: "/me",
  tag: "Service",
  summary: "Show who the token speaks for",
  description: "The application of the token with its scopes and limits: the first call to make with a new token.",
  file: "applications/me",
  scope: null,
  grants: ["read"],
  reply: Me,
  refusals: ["not_found"],
});

/** `GET /settings` */
export const getSettings = route({
  id: "get_settings",
  method: "GET",
  path: "/settings",
  tag: "Service",
  summary: "Show the policies of the brokerage",
  description: "What holds for all clients and accounts of the brokerage.",
  file: "applications/get-settings",
  scope: "admin",
  grants: ["read"],
  reply: Settings,
});

/** `PATCH /settings` */
export const updateSettings = route({
  id: "update_settings",
  method: "PATCH",
  path: "/settings",
  tag: "Service",
  summary: "Change the policies of the brokerage",
  description:
    "A merge patch (RFC 7396). What it changes holds for decisions from now on, not for what was decided " + "before.",
  file: "applications/update-settings",
  scope: "admin",
  grants: ["read", "put", "update"],
  body: UpdateSettingsRequest,
  media: "merge_patch",
  reply: Settings,
  example: { four_eyes: true },
});

/** `GET /openapi.json` */
export const getOpenApi = route({
  id: "get_openapi",
  method: "GET",
  path: "/openapi.json",
  tag: "Service",
  summary: "Download the OpenAPI 3.0 description",
  description: "This document, with the address of this stage. It is open, so that tools can fetch it.",
  file: "documents/openapi",
  auth: "none",
  scope: null,
  rate: "none",
  grants: [],
  reply: OpenApiDocument,
});

/** `GET /health` */
export const getHealth = route({
  id: "get_health",
  method: "GET",
  path: "/health",
  tag: "Service",
  summary: "Tell that the API answers",
  description: "Answers without looking behind the API: it tells that requests arrive, not that every part works.",
  file: "documents/health",
  auth: "none",
  scope: null,
  rate: "none",
  grants: [],
  reply: Health,
});

/** Rows of the service itself. */
export const serviceRoutes = [getMe, getSettings, updateSettings, getOpenApi, getHealth] as const;
