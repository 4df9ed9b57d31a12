import createClient from "openapi-fetch";
// Written by openapi-typescript from the document, beside a copy of this file.
import type { components, paths } from "./api.ts";

/** The README's walk by a client that was generated from the document and knows nothing else. */
export async function walk(baseUrl: string, credentials: { client_id: string; client_secret: string }) {
  const api = createClient<paths>({ baseUrl, querySerializer: { array: { style: "form", explode: false } } });

  const token = await api.POST("/oauth/token", { body: { grant_type: "client_credentials", ...credentials } });
  if (token.data === undefined) throw new Error(`No token: ${JSON.stringify(token.error)}`);
  const authorization = `Bearer ${token.data.access_token}`;
  api.use({
    onRequest({ request }) {
      request.headers.set("Authorization", authorization);
      return request;
    },
  });

  const client = await api.POST("/clients", {
    body: { email: "generated@example.com", first_name: "Ana", last_name: "Silva" },
  });
  if (client.data === undefined) throw new Error(`No client: ${client.error.code}`);
  const account = await api.POST("/accounts", { body: { client_id: client.data.id } });
  if (account.data === undefined) throw new Error(`No account: ${account.error.code}`);

  const params = { header: { "Idempotency-Key": "first-deposit" } };
  const body = { account_id: account.data.id, amount: "1000.00" };
  const deposit = await api.POST("/transactions/deposit", { params, body });
  const again = await api.POST("/transactions/deposit", { params, body });
  if (deposit.data === undefined || again.data === undefined) throw new Error("No deposit.");

  const path = { id: deposit.data.id };
  const completed = await api.PATCH("/transactions/{id}", { params: { path }, body: { status: "completed" } });
  const shown = await api.GET("/accounts/{id}", { params: { path: { id: account.data.id } } });
  const ledger = await api.GET("/accounts/{id}/ledger", { params: { path: { id: account.data.id } } });
  const decided = await api.GET("/transactions", {
    params: { query: { status: ["completed", "returned"], limit: 5 } },
  });
  const taken = await api.POST("/clients", {
    body: { email: "generated@example.com", first_name: "Ana", last_name: "Silva" },
  });
  const entries: components["schemas"]["LedgerEntry"][] = ledger.data?.data ?? [];
  return {
    same: again.data.id === deposit.data.id && again.response.headers.get("Idempotent-Replayed") === "true",
    status: completed.data?.status,
    balance: shown.data?.balance,
    amounts: entries.map(({ amount }) => amount),
    decided: decided.data?.data.map(({ id }) => id === deposit.data.id),
    refusal: taken.error?.code,
    events: async () => (await api.GET("/events")).data?.data.map(({ type }) => type) ?? [],
  };
}

type Account = components["schemas"]["TradingAccount"];

/** An account as a later version may show it: it is read although its values are not in the document. */
export function later(account: Account): Account {
  return { ...account, margin_status: "frozen", status: "dormant", type: "practice", currency: "XYZ" };
}
