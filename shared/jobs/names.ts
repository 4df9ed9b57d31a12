import { clientSummary } from "../domain/accounts/client.ts";
import { accounts, clients } from "../table/entities.ts";
import { findReadable } from "../table/store.ts";

type Row = Readonly<Record<string, unknown>>;

/** The rows with the number of their account and the name of their client, null where there is none any more. */
export async function withNames(tenant: string, rows: readonly object[]): Promise<readonly object[]> {
  const ids = (member: string) =>
    [...new Set(rows.map((row) => (row as Row)[member]))].filter((id) => id !== undefined);
  const accountIds = ids("account_id").map(String);
  const clientIds = ids("client_id").map(String);
  const [held, known] = await Promise.all([
    findReadable(
      accounts,
      accountIds.map((id) => accounts.key(tenant, id)),
    ),
    findReadable(
      clients,
      clientIds.map((id) => clients.key(tenant, id)),
    ),
  ]);
  const numbers = new Map(held.map(({ id, number }) => [id, number]));
  const names = new Map(known.map((client) => [client.id, clientSummary(client).name]));
  return rows.map((row) => {
    const { account_id, client_id, number } = row as Row;
    const account_number = number ?? numbers.get(String(account_id)) ?? null;
    return { ...row, account_number, client_name: names.get(String(client_id)) ?? null };
  });
}
