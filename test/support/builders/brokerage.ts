import type { TestAnswer, TestApi } from "../emulator/api.ts";
import type { TestCaller } from "../emulator/request.ts";

let people = 0;

/** The smallest body of a client, with an email that no other has. */
export function clientRequest(more: object = {}): Record<string, unknown> {
  people += 1;
  return { email: `client-${people}@example.com`, first_name: "Ana", last_name: "Silva", ...more };
}

/** First steps of a test, each through the API; an answer of another kind than expected fails with its text. */
export function brokerage(api: TestApi, caller: TestCaller) {
  const post = async (address: string, body: unknown): Promise<TestAnswer["body"]> => {
    const answer = await api.call(caller, "POST", address, { body });
    if (answer.status !== 201) throw new Error(`${address}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  return {
    client: (more: object = {}) => post("/clients", clientRequest(more)),
    /** An account of a new client, with a completed deposit when an amount is given. */
    account: async (amount?: string, more: object = {}) => {
      const client = await post("/clients", clientRequest());
      const account = await post("/accounts", { client_id: client.id, ...more });
      if (amount !== undefined) {
        await post("/transactions/deposit", { account_id: account.id, amount, status: "completed" });
      }
      return account;
    },
    deposit: (account: { id: string }, amount: string, more: object = {}) =>
      post("/transactions/deposit", { account_id: account.id, amount, ...more }),
    withdrawal: (account: { id: string }, amount: string, more: object = {}) =>
      post("/transactions/withdrawal", { account_id: account.id, amount, ...more }),
    move: (transaction: { id: string }, status: string, more: object = {}) =>
      api.call(caller, "PATCH", `/transactions/${transaction.id}`, {
        body: { status, reason: { code: "by_test" }, ...more },
      }),
    get: async (address: string): Promise<TestAnswer["body"]> => {
      const answer = await api.call(caller, "GET", address);
      if (answer.status !== 200) throw new Error(`${address}: ${answer.status} ${answer.text}`);
      return answer.body;
    },
  };
}

/** How many answers there are of each status. */
export function statusCounts(answers: readonly TestAnswer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The same call so many times at once. */
export function atOnce<T>(count: number, call: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => call(index)));
}
