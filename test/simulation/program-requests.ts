import { amountText, type Books, type Intent } from "./model-books.ts";
import type { Act, Sent, Tenant } from "./program-acts.ts";

/** An earlier call once more, under its key; altered by a space that changes nothing but its bytes. */
export function again(tenant: Tenant, { nth, altered }: Extract<Act, { do: "replay" }>): Sent[] {
  const call = newest(tenant.keyed, nth);
  if (call === undefined) return [];
  if (!altered || call.body === undefined) return [call];
  const body = `${call.body} `;
  return [{ ...call, body, request: JSON.stringify([call.method, call.address, body]) }];
}

function newest<T>(all: readonly T[], nth: number): T | undefined {
  return all.length === 0 ? undefined : all.at(-1 - (nth % all.length));
}

const absent = "01JD0000000000000000000000";

export function intentOf(
  given: Act,
  target: number,
  { clients, accounts, transactions }: Books,
  tenant: Tenant,
): Intent {
  const idOf = (all: ReadonlyMap<string, unknown>, prefix: string) =>
    newest([...all.keys()], target) ?? `${prefix}_${absent}`;
  const client = idOf(clients, "cli");
  switch (given.do) {
    case "create_client": {
      const external_id = given.external_id === null ? null : `client ${given.external_id}`;
      return { ...given, email: `client-${given.email}@example.com`, external_id };
    }
    case "client_status":
    case "verification":
    case "open_account":
      return { ...given, client };
    case "account_status":
    case "trading_mode":
      return { ...given, account: idOf(accounts, "acc") };
    case "book": {
      const external_id = given.external_id === null ? null : `money ${given.external_id}`;
      return { ...given, account: idOf(accounts, "acc"), external_id };
    }
    case "move": {
      const transaction = idOf(transactions, "txn");
      const now = tenant.books.transactions.get(transaction)?.version ?? 1;
      // Mostly the version that it has, sometimes the one before or after.
      const if_version = given.if_version === null ? undefined : now + ([0, 0, -1, 1][given.if_version % 4] ?? 0);
      return { ...given, transaction, if_version };
    }
    default:
      return given as Intent;
  }
}

export function requestOf(
  intent: Intent,
  books: Books,
  canary: string,
): Pick<Sent, "method" | "address" | "body" | "if_match"> {
  const patch = (address: string, body: object, if_match?: string) => ({
    method: "PATCH",
    address,
    body: JSON.stringify(body),
    if_match,
  });
  const post = (address: string, body: object) => ({
    method: "POST",
    address,
    body: JSON.stringify({ ...body, metadata: { note: canary } }),
    if_match: undefined,
  });
  switch (intent.do) {
    case "create_client": {
      const { email, external_id } = intent;
      return post("/clients", { email, external_id, first_name: canary, last_name: "Silva" });
    }
    case "client_status":
      return patch(`/clients/${intent.client}`, { status: intent.to });
    case "verification":
      return patch(`/clients/${intent.client}`, {
        verification_status: intent.to,
        ...(intent.details ? { date_of_birth: "1990-12-31", country: "PT" } : {}),
        ...(intent.to === "rejected" && intent.reasons ? { verification: { rejection_reasons: ["pep"] } } : {}),
      });
    case "open_account":
      return post("/accounts", { client_id: intent.client, type: intent.type, currency: intent.currency });
    case "account_status":
      return intent.to === "disabled"
        ? { method: "DELETE", address: `/accounts/${intent.account}`, body: undefined, if_match: undefined }
        : patch(`/accounts/${intent.account}`, { status: intent.to });
    case "trading_mode":
      return patch(`/accounts/${intent.account}`, { trading_mode: intent.to });
    case "book": {
      const currency = books.accounts.get(intent.account)?.currency ?? "USD";
      const fraction = currency === "USD" ? "1" : ".1";
      return post(`/transactions/${intent.kind}`, {
        account_id: intent.account,
        amount: amountText(intent.amount, currency) + (intent.imprecise ? fraction : ""),
        fee: amountText(intent.fee, currency),
        ...(intent.completed ? { status: "completed" } : {}),
        ...(intent.external_id === null ? {} : { external_id: intent.external_id }),
      });
    }
    case "move": {
      const { to, reason, force, keep_fee, if_version } = intent;
      return patch(
        `/transactions/${intent.transaction}`,
        {
          status: to,
          ...(reason ? { reason: { code: "by_test" } } : {}),
          ...(force ? { force } : {}),
          ...(keep_fee ? { keep_fee } : {}),
        },
        if_version === undefined ? undefined : `"${if_version}"`,
      );
    }
    case "settings":
      return patch("/settings", { four_eyes: intent.four_eyes, require_verified_client: intent.require });
  }
}
