import { LambdaClient } from "@aws-sdk/client-lambda";
import { signed } from "../../aws-client/request-signature.ts";
import { request } from "../answered.ts";

/** An error that AWS answered with, by its code. */
export class AwsError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** A region of an account, asked with the credentials of the environment, which may be a profile or a role. */
export interface Aws {
  readonly region: string;
  /** Calls an action of a service with the query protocol (XML); returns the text of the answer. */
  query(service: string, action: string, parameters?: Readonly<Record<string, string>>): Promise<string>;
  /** Gets a path of a service with the REST protocol (JSON). */
  get(service: string, path: string): Promise<unknown>;
}

/** Versions of the APIs in the query protocol. */
const versions: Readonly<Record<string, string>> = {
  sts: "2011-06-15",
  cloudformation: "2010-05-15",
  monitoring: "2010-08-01",
};

const answerLimitMs = 30_000;

/** The text of the first element of this name; undefined when there is none. */
export function elementOf(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([\\s\\S]*?)</${name}>`).exec(xml)?.[1];
  return text
    ?.replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll("&amp;", "&");
}

/**
 * Connects with the credentials and the region that the SDK finds; `AWS_ENDPOINT_URL` names another address, as for
 * the SDK.
 * @throws the SDK's error when there are no credentials or no region
 */
export async function connect(): Promise<Aws> {
  const client = new LambdaClient({});
  const region = await client.config.region();
  const credentials = await client.config.credentials();
  client.destroy();
  const send = async (service: string, asked: { method: string; path: string; body?: string; headers: object }) => {
    const base = new URL(process.env["AWS_ENDPOINT_URL"] ?? `https://${service}.${region}.amazonaws.com`);
    const { pathname, searchParams } = new URL(asked.path, base);
    const query = Object.fromEntries(searchParams);
    const unsigned = { ...asked, path: pathname, query, headers: { host: base.host, ...asked.headers } };
    const headers = signed(unsigned, credentials, { region, service, at: new Date() });
    const sent = { method: asked.method, headers, ...(asked.body !== undefined && { body: asked.body }) };
    return request(answerLimitMs, new URL(asked.path, base), sent);
  };
  return {
    region,
    async query(service, action, parameters = {}) {
      const body = new URLSearchParams({ Action: action, Version: versions[service] ?? "", ...parameters }).toString();
      const headers = { "content-type": "application/x-www-form-urlencoded; charset=utf-8" };
      const { ok, status, text } = await send(service, { method: "POST", path: "/", body, headers });
      if (ok) return text;
      throw new AwsError(elementOf(text, "Code") ?? String(status), elementOf(text, "Message") ?? text.slice(0, 200));
    },
    async get(service, path) {
      const { ok, status, text, headers } = await send(service, { method: "GET", path, headers: {} });
      if (ok) return JSON.parse(text);
      const { message = text.slice(0, 200) } = text.startsWith("{") ? (JSON.parse(text) as { message?: string }) : {};
      throw new AwsError(headers.get("x-amzn-errortype")?.split(":")[0] ?? String(status), message);
    },
  };
}
