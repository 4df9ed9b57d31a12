import type { Stage } from "./routes/route.ts";

/** Address of a stage's API in the published documents; a deployment with a domain of its own replaces it. */
export const publishedUrls: Readonly<Record<Stage, string>> = {
  production: "https://api.brokerage.example/v2",
  sandbox: "https://sandbox.brokerage.example/v2",
};

/** Address of a stage's stream in the published documents; a deployment replaces it. */
export const publishedStreamUrls: Readonly<Record<Stage, string>> = {
  production: "wss://stream.brokerage.example",
  sandbox: "wss://stream.sandbox.brokerage.example",
};

/** Claims `iss` and `aud` of the access tokens of the API at an address (RFC 9068): its origin, and the address. */
export function tokenClaims(apiUrl: string): { readonly issuer: string; readonly audience: string } {
  return { issuer: new URL(apiUrl).origin, audience: apiUrl };
}
