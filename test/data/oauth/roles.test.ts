import { afterAll, describe, expect, it } from "vitest";
import { type Role, roles, scopesOf } from "../../../shared/roles.ts";
import { routes } from "../../../shared/routes/index.ts";
import type { Route, Stage } from "../../../shared/routes/route.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { addressOf, asOperator, newCaller, type TestCaller } from "../../support/emulator/request.ts";

const api = await startApi();
afterAll(() => api.stop());
const caller = newCaller();
const broker = brokerage(api, caller);

const everyone = "owner finance compliance support risk developer viewer";

/**
 * Operations that each role may call in production, as the design says it: written out here and derived from nothing,
 * so that neither a row nor a role changes it unnoticed.
 */
const table: readonly (readonly [who: string, operations: string])[] = [
  [everyone, "get_me get_limits create_stream_ticket"],
  [everyone, "list_clients get_client list_client_accounts list_accounts get_account_metrics list_margin_watch"],
  [everyone, "get_account get_balance get_statement list_ledger list_client_transactions list_account_transactions"],
  [everyone, "list_transactions summarize_transactions get_transaction get_transaction_history list_drift get_drift"],
  [everyone, "get_settings list_events get_event list_event_types"],
  [everyone, "list_reviews"],
  ["owner compliance support", "create_client update_client create_review"],
  ["owner compliance", "list_client_queue"],
  ["owner support risk", "create_account update_account disable_account"],
  ["owner finance support", "create_deposit create_withdrawal create_adjustment create_credit create_transfer"],
  ["owner finance support", "create_transfer_quote update_transaction"],
  ["owner finance", "list_approval_queue approve_transaction reject_transaction"],
  ["owner finance", "create_job cancel_job create_job_links"],
  ["owner finance risk", "retry_feed_reject dismiss_feed_reject requeue_command resolve_drift"],
  ["owner finance support risk developer viewer", "list_client_trades list_account_trades list_account_positions"],
  ["owner finance support risk developer viewer", "list_account_orders list_trades get_trade list_positions"],
  ["owner finance support risk developer viewer", "get_position list_orders get_order list_symbols get_symbol"],
  [
    "owner finance support risk developer viewer",
    "get_symbol_margin get_quote list_quotes list_conversion_rates create_margin_preview get_exposure",
  ],
  ["owner finance risk developer viewer", "list_feed_sources get_feed_source list_feed_rejects list_commands"],
  ["owner finance risk developer viewer", "get_command list_feed_snapshots get_feed_snapshot"],
  ["owner finance risk viewer", "report_money report_usage report_reconciliation list_jobs get_job"],
  ["owner finance risk viewer", "report_closing_balances report_income"],
  ["owner compliance viewer", "list_audit_entries verify_audit_log get_audit_entry"],
  ["owner developer viewer", "list_webhook_endpoints get_webhook_endpoint list_deliveries get_delivery"],
  ["owner developer", "create_webhook_endpoint update_webhook_endpoint delete_webhook_endpoint retry_delivery"],
  ["owner developer", "rotate_webhook_secret test_webhook_endpoint replay_events"],
  ["owner developer", "list_applications create_application get_application update_application"],
  ["owner developer", "revoke_application rotate_application_secret"],
  ["owner", "list_operators create_operator get_operator update_operator invite_operator delete_operator"],
  ["owner", "get_operator_handover reset_operator_credentials"],
  ["owner", "update_settings create_feed_source update_feed_source delete_feed_source send_feed_batch"],
  ["owner", "send_feed_quotes begin_feed_epoch take_commands ack_command send_feed_snapshot"],
  ["owner developer", "set_sandbox_prices drive_sandbox_account open_sandbox_trade close_sandbox_trade"],
  ["owner developer", "place_sandbox_order cancel_sandbox_order sandbox_verify_client sandbox_reject_client"],
  ["owner developer", "sandbox_settle_transaction sandbox_fail_transaction sandbox_return_transaction"],
  ["owner developer", "sandbox_trigger_event reset_sandbox get_sandbox_reset"],
];

/** Rows that a developer may not call in the sandbox either. */
const notInSandbox: readonly string[] = [
  ...["list_operators", "create_operator", "get_operator", "update_operator", "invite_operator", "delete_operator"],
  ...["get_operator_handover", "reset_operator_credentials"],
  ...["update_settings", "create_feed_source", "update_feed_source", "delete_feed_source", "send_feed_batch"],
  ...["send_feed_quotes", "begin_feed_epoch", "take_commands", "ack_command", "send_feed_snapshot"],
];

const allowed = table.flatMap(([who, operations]) =>
  operations.split(" ").map((operation) => [operation, who.split(" ")] as const),
);

function mayCall(role: Role, operation: string, stage: Stage): boolean {
  if (stage === "sandbox" && role === "developer") return !notInSandbox.includes(operation);
  return allowed.some(([name, who]) => name === operation && who.includes(role));
}

const asked = routes.filter(({ auth }) => auth === "token");
const cases = (["production", "sandbox"] as const).flatMap((stage) => roles.map((role) => [role, stage] as const));

/** A person of the role, with the scopes that it has in this stage. */
function personOf(role: Role, stage: Stage, of: TestCaller = caller): TestCaller {
  return { ...asOperator(of, role, role), scopes: scopesOf(role, stage) };
}

describe("the table of roles", () => {
  it("has every operation that asks for a token, once, and knows the seven roles", () => {
    expect(allowed.map(([operation]) => operation).toSorted()).toEqual(asked.map(({ id }) => id).toSorted());
    expect(roles).toEqual(everyone.split(" "));
  });

  it.each(cases)("lets a %s call in the %s what it names and nothing else", async (role, stage) => {
    const person = personOf(role, stage, newCaller());
    const there = asked.filter(({ stages }) => stages.includes(stage));
    const isAdmitted = async (row: Route) => {
      const example = row.id === "create_application" ? { name: "CRM", scopes: ["clients:read"] } : row.example;
      const body = row.body === undefined ? {} : { body: example };
      const { body: answer } = await api.call(person, row.method, addressOf(row), body);
      return answer?.code !== "insufficient_scope";
    };
    const admitted: string[] = [];
    for (const row of there) if (await isAdmitted(row)) admitted.push(row.id);
    expect(admitted).toEqual(there.filter(({ id }) => mayCall(role, id, stage)).map(({ id }) => id));
  });
});

/** Requests of an operation that take more than the operation alone: who may send them in production. */
const parts: Readonly<
  Record<string, readonly [who: string, send: (person: TestCaller) => Promise<{ status: number }>]>
> = {
  "verifies a client": ["owner compliance", (person) => clientMove(person, { verification_status: "verified" })],
  "names a client": ["owner compliance support", (person) => clientMove(person, { first_name: "Eva" })],
  "enables an account": ["owner support risk", (person) => accountMove(person, { status: "active" })],
  "tags an account": ["owner support risk", (person) => accountMove(person, { metadata: { tag: "vip" } })],
  "sets a leverage": ["owner risk", (person) => accountMove(person, { leverage: 20 })],
  "closes trading": ["owner risk", (person) => accountMove(person, { trading_mode: "close_only" })],
  "opens an account": ["owner support risk", (person) => opening(person, { currency: "EUR", type: "demo" })],
  "opens one on other terms": ["owner risk", (person) => opening(person, { leverage: 20 })],
  "creates a deposit": ["owner finance support", (person) => deposit(person, {})],
  "creates a completed one": ["owner finance", (person) => deposit(person, { status: "completed" })],
  "cancels a deposit": ["owner finance support", (person) => move(person, ["cancelled"])],
  "approves a deposit": ["owner finance", (person) => move(person, ["approved"])],
  "rejects a deposit": ["owner finance", (person) => move(person, ["rejected"])],
  "completes a deposit": ["owner finance", (person) => move(person, ["completed"])],
  "returns a deposit": ["owner finance", (person) => move(person, ["returned"], ["completed"])],
  "completes a credit": ["owner finance", (person) => credit(person)],
  "completes an adjustment": ["owner finance", (person) => adjustment(person)],
  "completes a transfer of a client": ["owner finance support", (person) => transfer(person, true)],
  "completes one to another client": ["", (person) => transfer(person, false)],
};

const patch = (who: TestCaller, address: string, body: object) => api.call(who, "PATCH", address, { body });
const post = (who: TestCaller, address: string, body: object) => api.call(who, "POST", address, { body });

async function clientMove(person: TestCaller, body: object) {
  const { id } = await broker.client({ date_of_birth: "1990-01-01", country: "DE" });
  return await patch(person, `/clients/${id}`, body);
}

async function accountMove(person: TestCaller, body: object) {
  const { id } = await broker.account();
  return await patch(person, `/accounts/${id}`, body);
}

async function opening(person: TestCaller, body: object) {
  const { id } = await broker.client();
  return await post(person, "/accounts", { client_id: id, ...body });
}

async function deposit(person: TestCaller, body: object) {
  const { id } = await broker.account();
  return await post(person, "/transactions/deposit", { account_id: id, amount: "10.00", ...body });
}

async function move(person: TestCaller, [status]: readonly [string], before: readonly string[] = []) {
  const transaction = await broker.deposit(await broker.account(), "10.00");
  for (const first of before) await broker.move(transaction, first);
  return await patch(person, `/transactions/${transaction.id}`, { status, reason: { code: "by_test" } });
}

async function credit(person: TestCaller) {
  const { id: account_id } = await broker.account();
  const body = { account_id, direction: "in", amount: "5.00", reason: { code: "bonus" } };
  const made = await post(caller, "/transactions/credit", body);
  return await patch(person, `/transactions/${made.body.id}`, { status: "completed" });
}

async function adjustment(person: TestCaller) {
  const { id: account_id } = await broker.account();
  const made = await post(caller, "/transactions/adjustment", {
    ...{ account_id, amount: "5.00", reason: { code: "correction" } },
  });
  await patch(personOf("owner", "production"), `/transactions/${made.body.id}`, { status: "approved" });
  return await patch(person, `/transactions/${made.body.id}`, { status: "completed" });
}

/** A transfer that waits for a second person counts as refused: it is not completed. */
async function transfer(person: TestCaller, own: boolean) {
  const from = await broker.account("10.00");
  const to = own ? (await post(caller, "/accounts", { client_id: from.client_id })).body : await broker.account();
  const body = { from_account_id: from.id, to_account_id: to.id, amount: "1.00" };
  const { status, body: made } = await post(person, "/transactions/transfer", body);
  return { status: status === 201 && made.status !== "completed" ? 403 : status };
}

describe.each(Object.entries(parts))("who %s", (_, [who, send]) => {
  it.each(roles)("as %s", async (role) => {
    const { status } = await send(personOf(role, "production"));
    expect(status < 300 ? 200 : status).toBe(who.split(" ").includes(role) ? 200 : 403);
  });
});
