import type { Json } from "../api-call.ts";
import type { Check, Context } from "./check.ts";
import { must } from "./finding.ts";
import { mustBeProblem } from "./gateway-checks.ts";
import { resources } from "./resources.ts";
import { replyText, send } from "./session.ts";

/** Headers of every page and file, with what their value has to contain. */
const pageHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": "default-src 'none'",
  "strict-transport-security": "max-age=31536000; includeSubDomains",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
};

/** Any 32 octets make a challenge (RFC 7636 4.2); no code is ever exchanged here. */
const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

const html = "text/html";
const maxRedirects = 5;

function dashboardOf({ dashboard }: Context): string {
  return dashboard ?? "";
}

async function settingsOf(context: Context): Promise<Json> {
  const reply = await send(`${dashboardOf(context)}/config.json`, "GET");
  const named = [resources.dashboardFiles, resources.distribution];
  must(reply.status === 200 && reply.body !== undefined, `/config.json answered ${replyText(reply)}`, named);
  return reply.body;
}

/** Follows redirects from one page to the next, as a browser does; returns the last answer. */
async function visit(address: string) {
  let url = address;
  const cookies = new Map<string, string>();
  for (let followed = 0; ; followed += 1) {
    const headers = { Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
    const reply = await send(url, "GET", { headers });
    for (const cookie of reply.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    const location = reply.headers.get("location");
    if (reply.status < 300 || reply.status > 399 || location === null || followed === maxRedirects) return reply;
    url = new URL(location, url).href;
  }
}

/** Checks of the dashboard's address and of the page that operators sign in at. */
export const dashboardChecks: readonly Check[] = [
  {
    name: "dashboard",
    title: "the dashboard is served with its security headers and its settings",
    dashboard: true,
    async run(context) {
      const { baseUrl } = context.session;
      const named = [resources.distribution, resources.pageHeaders, resources.singlePage];
      const page = await send(`${dashboardOf(context)}/accounts`, "GET");
      must(page.status === 200 && page.text.includes("<div id"), `/accounts answered ${replyText(page)}`, named);
      for (const [name, part] of Object.entries(pageHeaders)) {
        const found = page.headers.get(name);
        must(found?.includes(part) === true, `/accounts has the header ${name}: ${found}`, [resources.pageHeaders]);
      }
      const [script = ""] = /\/assets\/[^"]+\.js/.exec(page.text) ?? [];
      const asset = await send(`${dashboardOf(context)}${script}`, "GET");
      const kept = asset.headers.get("cache-control");
      must(asset.status === 200, `${script} answered ${asset.status}`, [resources.dashboardFiles]);
      must(kept?.includes("immutable") === true, `${script} has Cache-Control: ${kept}`, [resources.dashboardFiles]);
      const { api_url } = await settingsOf(context);
      must(api_url === baseUrl, `/config.json names the API ${api_url}, not ${baseUrl}`, [resources.dashboardFiles]);
      return undefined;
    },
  },
  {
    name: "dashboard-api",
    title: "below /v2 the dashboard's address answers as the API, to operators only",
    dashboard: true,
    async run(context) {
      const named = [resources.distribution, resources.singlePage];
      const at = (path: string) => `${dashboardOf(context)}/v2${path}`;
      const unknown = await send(at("/no-such-path"), "GET");
      mustBeProblem("/v2/no-such-path of the dashboard", unknown, { status: 404, code: "not_found", named });
      const token = await context.session.token();
      const refused = await send(at("/me"), "GET", { token });
      const { status, body } = refused;
      const origin = [resources.originSecret, resources.distribution, resources.apiStage];
      const isRefused = status === 403 && body?.code === "operators_only";
      must(isRefused, `An application is answered ${replyText(refused)} at the dashboard's address`, origin);
      return undefined;
    },
  },
  {
    name: "sign-in",
    title: "the user pool is found, and its login page is shown",
    dashboard: true,
    async run(context) {
      const { issuer, client_id } = await settingsOf(context);
      const found = await send(`${issuer}/.well-known/openid-configuration`, "GET");
      const pool = [resources.userPool, resources.dashboardFiles];
      must(found.body?.issuer === issuer, `The pool ${issuer} answered ${replyText(found)}`, pool);
      const { authorization_endpoint, jwks_uri } = found.body;
      const keys = await send(jwks_uri, "GET");
      must(keys.body?.keys?.length > 0, `The key set of the pool answered ${replyText(keys)}`, pool);
      const query = new URLSearchParams({
        ...{ response_type: "code", client_id, scope: "openid email", state: "smoke" },
        redirect_uri: `${dashboardOf(context)}/signed-in`,
        ...{ code_challenge: challenge, code_challenge_method: "S256" },
      });
      const page = await visit(`${authorization_endpoint}?${query}`);
      const named = [resources.poolDomain, resources.poolClient, resources.poolBranding];
      const type = page.headers.get("content-type") ?? "";
      const isShown = page.status === 200 && type.includes(html);
      must(isShown, `The login page answered ${page.status}, ${type}`, named);
      return undefined;
    },
  },
];
