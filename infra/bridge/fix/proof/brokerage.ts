import type { Cloud } from "../../../local/cloud.ts";
import type { Connection, ServiceClient } from "../../../tools/service-client.ts";
import type { BookPosition } from "../../book.ts";
import { logins } from "./deals.ts";

/** A brokerage of its own on a service that runs. */
export async function newBrokerage(cloud: Cloud): Promise<Connection> {
  const request = { action: "create_application", tenant_id: null, name: "Bridge", scopes: null };
  const { payload } = await cloud.invoke("brokerage-sandbox-provision", request);
  return { ...(payload as Omit<Connection, "base_url">), base_url: cloud.baseUrl };
}

/** An account of each login of the test, linked to a source. */
export async function accountsOf(client: ServiceClient, source_id: string): Promise<Map<string, string>> {
  const accounts = new Map<string, string>();
  for (const [place, platform_login] of logins.entries()) {
    const body = { email: `bridge-${place}@example.com`, first_name: "Ana", last_name: "Silva" };
    const made = await client.call<{ id: string }>("POST", "/clients", { body, idempotencyKey: `client-${place}` });
    const link = { platform: "mt5", platform_login, source_id };
    const account = { client_id: made.body.id, type: "demo", leverage: 500, ...link };
    const options = { body: account, idempotencyKey: `account-${place}` };
    accounts.set(platform_login, (await client.call<{ id: string }>("POST", "/accounts", options)).body.id);
  }
  return accounts;
}

interface Page<T> {
  readonly data: readonly T[];
  readonly _links: { readonly next?: { readonly href: string } | null };
}

/** All entries of a list. */
export async function listed<T>(client: ServiceClient, first: string): Promise<T[]> {
  const found: T[] = [];
  let path: string | undefined = first;
  while (path !== undefined) {
    const { body }: { body: Page<T> } = await client.call<Page<T>>("GET", path);
    found.push(...body.data);
    path = body._links.next?.href.replace(/^(?:https?:\/\/[^/]+)?\/v2/, "");
  }
  return found;
}

/** Positions in a form in which two books can be compared. */
export function shapes(positions: readonly Pick<BookPosition, "side" | "lots" | "open_price">[]): string[] {
  return positions.map(({ side, lots, open_price }) => `${side} ${Number(lots)} ${Number(open_price)}`).toSorted();
}
