import { randomUUID } from "node:crypto";
import { collectionOf, exampleIds } from "../../../shared/openapi/examples/identifiers.ts";
import { routes } from "../../../shared/routes/index.ts";
import type { Route } from "../../../shared/routes/route.ts";
import { eventually } from "../wait.ts";
import { type ApiClient, someClient } from "./api-client.ts";

/** Endpoints that were made and are not deleted yet. */
const endpoints: { readonly api: ApiClient; readonly id: string }[] = [];

/** Deletes the webhook endpoints that were made since the last time. */
export async function deleteEndpoints(): Promise<void> {
  for (const { api, id } of endpoints.splice(0)) await api.call("DELETE", `/webhook_endpoints/${id}`);
}

/** A resource of a collection of its own, for a path or a member that names one. */
export async function made(collection: string, api: ApiClient): Promise<string> {
  if (collection === "clients") return idIn(await api.call("POST", "/clients", { body: someClient() }));
  // Enough for the trades of the examples, whatever leverage the account has.
  if (collection === "accounts") return funded(api, "100000.00");
  if (collection === "drift") return foundDrift(api);
  const creators = routes.filter((row) => [201, 202].includes(row.status) && collectionOf(row.path) === collection);
  const creator = creators.find(({ path }) => path === `/${collection}`) ?? creators[0];
  if (creator === undefined) throw new Error(`No row creates one of the ${collection}.`);
  // The name of a source is taken once in a brokerage, and so is the email address of an operator.
  const names: Record<string, object> = {
    feed: { name: `mt5:${randomUUID()}` },
    operators: { email: `${randomUUID()}@example.com` },
  };
  const body = { ...((await withRealIds(creator.example, api)) as object), ...names[collection] };
  const id = idIn(await api.call("POST", creator.path, { body }));
  if (collection === "webhook_endpoints") endpoints.push({ api, id });
  return id;
}

/** An account of a new client that holds this much. */
async function funded(api: ApiClient, amount: string): Promise<string> {
  const client_id = await made("clients", api);
  const account_id = idIn(await api.call("POST", "/accounts", { body: { client_id } }));
  idIn(await api.call("POST", "/transactions/deposit", { body: { account_id, amount, status: "completed" } }));
  return account_id;
}

/**
 * The id of what a request has made.
 * @throws Error for another answer than 201 and 202
 */
export function idIn({ status, body, text }: { status: number; body: Record<string, unknown>; text: string }): string {
  if (status !== 201 && status !== 202) throw new Error(`${status} ${text}`);
  return String(body["id"]);
}

/** An example with identifiers that exist in the place of the invented ones. */
export async function withRealIds(example: unknown, api: ApiClient, make = made): Promise<unknown> {
  let text = JSON.stringify(example);
  for (const [collection, invented] of Object.entries(exampleIds)) {
    if (text.includes(invented)) text = text.replaceAll(invented, await make(collection, api));
  }
  const body = JSON.parse(text);
  return "to_account_id" in body ? { ...body, to_account_id: await otherAccount(body.from_account_id, api) } : body;
}

/** An account in another currency of the client of an account. */
async function otherAccount(id: string, api: ApiClient): Promise<string> {
  const { body } = await api.call<{ client_id: string }>("GET", `/accounts/${id}`);
  return idIn(await api.call("POST", "/accounts", { body: { client_id: body.client_id, currency: "EUR" } }));
}

/** The number of a rejected item of a source. */
export async function putAside(api: ApiClient, source: string): Promise<string> {
  const path = `/feed/sources/${source}`;
  const { body } = await api.call<{ expected_next_seq: string }>("GET", path);
  const seq = body.expected_next_seq;
  await api.call("POST", `${path}/batches`, { body: { first_seq: seq, items: [{ seq, type: "unknown" }] } });
  return seq;
}

/** An account that a source keeps. */
async function linkedAccount(api: ApiClient, source_id: string): Promise<string> {
  const client_id = await made("clients", api);
  const link = { platform: "mt5", platform_login: "50012345", source_id };
  return idIn(await api.call("POST", "/accounts", { body: { client_id, type: "demo", ...link } }));
}

/** A difference that a snapshot has found: the platform has a cent that is not here. */
async function foundDrift(api: ApiClient): Promise<string> {
  const source_id = await made("feed", api);
  await linkedAccount(api, source_id);
  const { body: source } = await api.call<{ expected_next_seq: string }>("GET", `/feed/sources/${source_id}`);
  const body = {
    snapshot_id: "S-1",
    taken_at: new Date().toISOString(),
    as_of_seq: String(Number(source.expected_next_seq) - 1),
    part: 1,
    parts: 1,
    complete: false,
    accounts: [{ platform_login: "50012345", balance: "0.01", credit: "0.00", positions: [] }],
  };
  const sent = await api.call("POST", `/feed/sources/${source_id}/snapshots`, { body });
  if (sent.status !== 200) throw new Error(sent.text);
  return eventually(async () => {
    const { body: found } = await api.call<{ data: readonly { id: string }[] }>("GET", "/drift");
    return found.data[0]?.id;
  });
}

/** A command of a source that its bridge has taken. */
export async function takenCommand(api: ApiClient, source_id: string): Promise<string> {
  const account_id = await linkedAccount(api, source_id);
  const body = { account_id, amount: "1.00", status: "completed" };
  idIn(await api.call("POST", "/transactions/deposit", { body }));
  return eventually(async () => {
    const path = `/feed/sources/${source_id}/commands/take`;
    const taken = await api.call<{ data: readonly { id: string }[] }>("POST", path, {
      body: {},
      ...keyFor({ keyed: true }),
    });
    return taken.body.data[0]?.id;
  });
}

/** A key, where a row must have one. */
export function keyFor(row: Pick<Route, "keyed">): { readonly headers?: Readonly<Record<string, string>> } {
  return row.keyed === true ? { headers: { "Idempotency-Key": randomUUID() } } : {};
}
