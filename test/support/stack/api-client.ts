import { randomUUID } from "node:crypto";
import { type Reply, send } from "../../../infra/tools/api-call.ts";

/** Answer of the API: status, headers and the parsed body, undefined when there is none. */
export type ApiReply<T = Record<string, unknown>> = Reply<T>;

/** Headers and body of a call in addition to its method and path. */
export interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A caller of the API as an integrator would write one: it knows the base address and a token, nothing of the service.
 */
export interface ApiClient {
  readonly token: string;
  call<T = Record<string, unknown>>(method: string, path: string, options?: CallOptions): Promise<ApiReply<T>>;
}

/** A client with this token. Refused for its rate, it waits as long as `Retry-After` says and asks again. */
export function apiClient(baseUrl: string, token: string): ApiClient {
  return {
    token,
    call: (method, path, options = {}) => patiently(() => send(baseUrl + path, method, { ...options, token })),
  };
}

/** Answers that ask to come again. Where the long form throttles, a call may be throttled at every try of it: 503. */
const again = process.env["THROTTLED_PERCENT"] === undefined ? [429] : [429, 503];

/** The first answer that is not 429: the limit of 50 a second is real, and a test may be faster. */
export async function patiently<R extends { readonly status: number; readonly headers: unknown }>(
  ask: () => Promise<R>,
): Promise<R> {
  for (;;) {
    const reply = await ask();
    if (!again.includes(reply.status)) return reply;
    const { headers } = reply;
    const wait =
      headers instanceof Headers ? headers.get("retry-after") : (headers as Record<string, string>)["retry-after"];
    await new Promise((resolve) => setTimeout(resolve, 1000 * Number(wait ?? 1)));
  }
}

/** A body of a client that no other test uses. */
export function someClient(): Record<string, string> {
  return { email: `${randomUUID()}@example.com`, first_name: "Ana", last_name: "Silva" };
}

/** A client with an account that holds this much, by API calls alone. */
export async function fundedAccount(
  api: ApiClient,
  amount: string,
): Promise<{ client_id: string; account_id: string }> {
  const client = await created(api, "/clients", someClient());
  const account = await created(api, "/accounts", { client_id: client });
  const deposit = await created(api, "/transactions/deposit", { account_id: account, amount });
  const done = await api.call("PATCH", `/transactions/${deposit}`, { body: { status: "completed" } });
  if (done.status !== 200) throw new Error(`The deposit was not completed: ${done.text}`);
  return { client_id: client, account_id: account };
}

async function created(api: ApiClient, path: string, body: unknown): Promise<string> {
  const reply = await api.call<{ id: string }>("POST", path, { body });
  if (reply.status !== 201) throw new Error(`POST ${path} answered ${reply.status}: ${reply.text}`);
  return reply.body.id;
}
