import { expect } from "vitest";
import { fundedAccount, someClient } from "../../support/stack/api-client.ts";
import { floorOf } from "../../support/stack/cloud-floor.ts";
import { eventually } from "../../support/wait.ts";
import { type Placing, quoteSymbol, type StoryOptions, withPlacing } from "./stack.ts";

/** Members that are read of an answer. */
interface Answer {
  readonly id: string;
  readonly command_id: string;
  readonly data: readonly Command[];
}

/** Members that are read of a command. */
interface Command {
  readonly id: string;
  readonly transaction_id: string;
}

/** Money within the brokerage: credit that ends, and transfers between two currencies, with an open position. */
export async function tellOfInternalMoney({ stack, saboteur }: StoryOptions): Promise<void> {
  const { api } = stack;
  const { client_id, account_id } = await fundedAccount(api, "100.00");
  await quoteSymbol(stack);
  let calls = 0;
  const post = async (path: string, body: object) => {
    calls += 1;
    const headers = { "Idempotency-Key": `internal-${calls}` };
    const answer = await api.call<{ id: string }>("POST", path, { body, headers });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body.id;
  };
  const to_account_id = await post("/accounts", { client_id, currency: "EUR" });
  const floor = await floorOf(stack);
  const opened = await floor.open(account_id, { symbol: "EURUSD", side: "buy", lots: "0.01" });
  expect(opened.kind).toBe("done");
  // Credit that ends while a position is open: the sweep decides what that means for its margin.
  const expires_at = new Date(Date.now() + 4000).toISOString();
  const credit = { account_id, direction: "in", amount: "1.00", reason: { code: "story" }, expires_at };
  const granted = `/transactions/${await post("/transactions/credit", credit)}`;
  expect((await api.call("PATCH", granted, { body: { status: "completed" } })).status).toBe(200);
  await eventually(async () => {
    const { body } = await api.call<{ credit: { expired_at: string | null } }>("GET", granted);
    return body.credit.expired_at ?? undefined;
  }, 60_000);
  const transfer = { from_account_id: account_id, to_account_id, amount: "5.00" };
  // The way of a transfer needs a price of now.
  await quoteSymbol(stack);
  // On this clock a quote holds for 50 ms: it is asked for, replaced and not used.
  for (const _ of [1, 2]) await post("/transfer_quotes", transfer);
  await withPlacing({ stack, saboteur, account_id }, "create-transfer", () => post("/transactions/transfer", transfer));
  await decidedByAnother({ stack, saboteur, account_id }, post);
}

/**
 * A transfer to another client's account, which another application approves, and a withdrawal that it rejects, while
 * the account has an open position.
 */
async function decidedByAnother(placing: Placing, post: (path: string, body: object) => Promise<string>) {
  const { stack, account_id } = placing;
  const { api } = await stack.newApplication({ tenant_id: stack.tenant_id });
  const decide = async (id: string, verdict: "approve" | "reject", body?: object) => {
    const headers = { "Idempotency-Key": `${verdict}-${id}` };
    const path = `/transactions/${id}/${verdict}`;
    const answer = await withPlacing(placing, `${verdict}-transaction`, () =>
      api.call("POST", path, { headers, ...(body === undefined ? {} : { body }) }),
    );
    expect(answer.status, answer.text).toBe(200);
  };
  const { account_id: to_account_id } = await fundedAccount(stack.api, "1.00");
  const transfer = { from_account_id: account_id, to_account_id, amount: "1.00" };
  const waiting = await post("/transactions/transfer", transfer);
  await decide(waiting, "approve");
  const withdrawal = await post("/transactions/withdrawal", { account_id, amount: "1.00" });
  await decide(withdrawal, "reject", { reason: { code: "story" } });
}

type Call = (method: string, path: string, body?: object) => Promise<Answer>;

/**
 * Takes the commands of a source until this one is among them. On this clock a lease lasts 100 ms: on a busy machine
 * the search for a command before it may be taken first.
 */
async function takeUntil(call: Call, source: string, isWanted: (command: Command) => boolean): Promise<Command> {
  return eventually(async () => (await call("POST", `${source}/commands/take`, {})).data.find(isWanted), 60_000);
}

/** Money of a linked account with a position: commands that are done, and one that is lost, not found and requeued. */
export async function tellOfCommands({ stack, saboteur }: StoryOptions): Promise<void> {
  const { api } = stack;
  let calls = 0;
  const call = async (method: string, path: string, body?: object) => {
    calls += 1;
    const headers = { "Idempotency-Key": `command-${calls}` };
    const answer = await api.call<Answer>(method, path, { headers, ...(body === undefined ? {} : { body }) });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body;
  };
  const source_id = (await call("POST", "/feed/sources", { name: "mt5:commands", platform: "mt5" })).id;
  const source = `/feed/sources/${source_id}`;
  const client = await call("POST", "/clients", someClient());
  const link = { platform: "mt5", platform_login: "7002", source_id };
  const { id: account_id } = await call("POST", "/accounts", { client_id: client.id, ...link });
  const placing = { stack, saboteur, account_id };
  const deposited = async (amount: string) => {
    const deposit = await call("POST", "/transactions/deposit", { account_id, amount, status: "completed" });
    await takeUntil(call, source, (command) => command.id === deposit.command_id);
    return deposit;
  };
  const done = (operation_id?: string) => ({ attempt: 1, status: "done", operation_id });
  const acknowledge = (id: string, body: object) => call("POST", `${source}/commands/${id}/ack`, body);
  const first = await deposited("100.00");
  await acknowledge(first.command_id, done("B-1"));
  await quoteSymbol(stack);
  const floor = await floorOf(stack);
  expect((await floor.open(account_id, { symbol: "EURUSD", side: "buy", lots: "0.01" })).kind).toBe("done");
  const second = await deposited("1.00");
  await withPlacing(placing, "ack-command", () => acknowledge(second.command_id, done("B-2")));
  const { id: transaction_id, command_id: lost_id } = await deposited("2.00");
  const lost = `${source}/commands/${lost_id}`;
  await acknowledge(lost_id, { attempt: 1, status: "unknown" });
  const isItsSearch = ({ id, ...command }: Command) => id !== lost_id && command.transaction_id === transaction_id;
  await acknowledge((await takeUntil(call, source, isItsSearch)).id, done());
  // Ten minutes must have passed since its lease.
  await withPlacing(placing, "requeue-command", () =>
    eventually(async () => (await api.call("POST", `${lost}/requeue`)).status === 200 || undefined, 60_000),
  );
  await takeUntil(call, source, ({ id }) => id === lost_id);
  await acknowledge(lost_id, { attempt: 2, status: "failed" });
}
