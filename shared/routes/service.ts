import { Health, Me, OpenApiDocument } from "../schema/service.ts";
import { route } from "./route.ts";

/** `GET /me` */
export const getMe = route({
  id: "get_me",
  method: "GET",
  path: "/me",
  tag: "Service",
  summary: "Show who the token speaks for",
  file: "applications/me",
  auth: "token",
  scope: null,
  rate: "standard",
  grants: ["read"],
  reply: Me,
  status: 200,
  refusals: [],
  emits: [],
  stages: ["sandbox", "production"],
});

/** `GET /openapi.json` */
export const getOpenApi = route({
  id: "get_openapi",
  method: "GET",
  path: "/openapi.json",
  tag: "Service",
  summary: "Download the OpenAPI 3.0 description",
  file: "documents/openapi",
  auth: "none",
  scope: null,
  rate: "none",
  grants: [],
  reply: OpenApiDocument,
  status: 200,
  refusals: [],
  emits: [],
  stages: ["sandbox", "production"],
});

/** `GET /health` */
export const getHealth = route({
  id: "get_health",
  method: "GET",
  path: "/health",
  tag: "Service",
  summary: "Tell that the API answers",
  file: "documents/health",
  auth: "none",
  scope: null,
  rate: "none",
  grants: [],
  reply: Health,
  status: 200,
  refusals: [],
  emits: [],
  stages: ["sandbox", "production"],
});

/** Rows of the service itself. */
export const serviceRoutes = [getMe, getOpenApi, getHealth] as const;
