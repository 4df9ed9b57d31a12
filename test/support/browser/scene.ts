import { eventually } from "../wait.ts";

/** A request of the API by an application with all scopes; it throws for every answer that is an error. */
export type SceneCall = <T>(method: string, path: string, body?: object) => Promise<T>;

/** Identifiers for the pages of single items. */
export interface Scene {
  readonly client_id: string;
  /** A client whose identity waits for a decision. */
  readonly pending_id: string;
  readonly account_id: string;
  readonly transaction_id: string;
  /** A withdrawal that waits for its approval. */
  readonly waiting_id: string;
  readonly feed_id: string;
  /** An endpoint whose receiver fails. */
  readonly endpoint_id: string;
  readonly delivery_id: string;
  readonly event_id: string;
  readonly application_id: string;
  readonly audit_id: string;
  readonly operator_id: string;
}

/** Receivers of the two endpoints: one accepts what it gets, the other does not. */
export interface SceneReceivers {
  readonly accepting: string;
  readonly failing: string;
}

interface Made {
  readonly id: string;
}
interface Listed {
  readonly data: readonly Made[];
}

interface Person {
  readonly name: string;
  readonly country: string;
  readonly currency: string;
  readonly deposit: string;
  readonly trade?: readonly [symbol: string, side: "buy" | "sell", lots: string];
  /** Margin level in percent that the price is driven to. */
  readonly level?: string;
  /** Requests that wait for an approval, and where they lead to. */
  readonly withdrawal?: readonly [amount: string, destination: object];
  readonly announced?: string;
}

/** The first one has the pages of single items. */
const people: readonly Person[] = [
  {
    ...{ name: "Ana Silva", country: "PT", currency: "USD", deposit: "28310.44" },
    trade: ["EURUSD", "buy", "1.20"],
    withdrawal: ["12500.00", { iban: "PT50000201231234567890154", holder: "Ana Silva" }],
  },
  {
    ...{ name: "Kaito Tanaka", country: "JP", currency: "USD", deposit: "3000.00" },
    ...{ trade: ["GBPUSD", "buy", "2.00"], level: "84.20" },
  },
  {
    ...{ name: "Oluwaseun Adeyemi", country: "NG", currency: "EUR", deposit: "5000.00" },
    ...{ trade: ["XAUUSD", "buy", "0.30"], level: "96.40" },
  },
  {
    ...{ name: "Jürgen Böhm", country: "DE", currency: "EUR", deposit: "15602.41", trade: ["AUDUSD", "sell", "3.00"] },
    withdrawal: ["940.00", { card_last4: "4417", holder: "Jürgen Böhm" }],
  },
  {
    ...{ name: "Chiara Lombardi", country: "IT", currency: "EUR", deposit: "2000.00", announced: "2000.00" },
    trade: ["EURGBP", "buy", "0.40"],
  },
  {
    ...{ name: "Priya Raman", country: "GB", currency: "GBP", deposit: "9480.18" },
    ...{ trade: ["BTCUSD", "buy", "0.10"], withdrawal: ["1250.00", { wallet: "bc1q9fe2", holder: "Priya Raman" }] },
  },
  {
    ...{ name: "Nguyễn Thị Hạnh", country: "VN", currency: "USD", deposit: "2650.38" },
    ...{ trade: ["USDJPY", "buy", "0.80"], announced: "430.25" },
  },
];

/** Fills an empty brokerage of the sandbox with people, money, trades, endpoints and a feed. */
export async function setScene(call: SceneCall, receivers: SceneReceivers): Promise<Scene> {
  const rule = { kind: "withdrawal", over: { USD: "5000.00" }, approvers: 2, roles: ["finance", "owner"] };
  await call("PATCH", "/settings", { approval_rules: [rule] });
  const endpoint = (url: string) => call<Made>("POST", "/webhook_endpoints", { url, event_types: ["*"] });
  await endpoint(receivers.accepting);
  const failing = await endpoint(receivers.failing);
  const [first] = await Promise.all(people.map((person) => settle(call, person)));
  if (first === undefined) throw new Error("The scene has no people.");
  await trade(call, first.account_id);
  const feed = await setFeed(call);
  const pending_id = await setIdentities(call);
  const one = async (path: string) => (await call<Listed>("GET", path)).data[0]?.id ?? "";
  const [application_id, audit_id, operator_id, event_id, delivery_id] = await Promise.all([
    one("/applications?limit=1"),
    eventually(async () => (await one("/audit_log?sort=-sequence&limit=1")) || undefined),
    one("/operators?limit=1"),
    eventually(async () => (await one(`/events?resource_id=${first.transaction_id}&limit=1`)) || undefined),
    eventually(
      async () => (await one(`/webhook_endpoints/${failing.id}/deliveries?status=retrying&limit=1`)) || undefined,
    ),
  ]);
  return {
    ...first,
    pending_id,
    ...{ feed_id: feed.id, endpoint_id: failing.id, application_id, audit_id, operator_id, event_id, delivery_id },
  };
}

/** A verified client with an account, its money, its trade and what it asks for. */
async function settle(call: SceneCall, person: Person) {
  const { name, country, currency, deposit, trade, level, withdrawal, announced } = person;
  const [first_name = "", ...others] = name.split(" ");
  const email = `${first_name
    .toLowerCase()
    .normalize("NFD")
    .replace(/[^a-z]/g, "")}@example.com`;
  const body = { email, first_name, last_name: others.join(" "), country, tags: ["retail"] };
  const { id: client_id } = await call<Made>("POST", "/clients", body);
  await call("POST", `/sandbox/clients/${client_id}/verify`);
  const terms = { client_id, type: "demo", currency, leverage: 100, name: "Main account" };
  const { id: account_id } = await call<Made>("POST", "/accounts", terms);
  const money = { account_id, method: "bank_transfer" };
  const paid = await call<Made>("POST", "/transactions/deposit", { ...money, amount: deposit, status: "completed" });
  if (trade !== undefined) {
    const [symbol, side, lots] = trade;
    await call("POST", "/sandbox/trades", { account_id, symbol, side, lots });
    if (level) await call("POST", `/sandbox/accounts/${account_id}/drive`, { margin_level: level, symbol });
  }
  if (announced !== undefined) await call("POST", "/transactions/deposit", { ...money, amount: announced });
  const waiting = withdrawal && (await withdraw(call, money, withdrawal));
  return { client_id, account_id, transaction_id: paid.id, waiting_id: waiting?.id ?? "" };
}

function withdraw(call: SceneCall, money: object, [amount, destination]: NonNullable<Person["withdrawal"]>) {
  return call<Made>("POST", "/transactions/withdrawal", { ...money, amount, fee: "12.50", destination });
}

/** Identities to decide and a verification that ends, with reviews; returns the client who waits longest. */
async function setIdentities(call: SceneCall): Promise<string> {
  const known = { date_of_birth: "1988-04-12", nationality: "SE", country: "SE" };
  const names = ["Lindqvist", "Åkesson", "Svensson"];
  const made: string[] = [];
  for (const [at, last_name] of names.entries()) {
    const email = `mara${at}@example.com`;
    const { id } = await call<Made>("POST", "/clients", { email, first_name: "Mara", last_name, ...known });
    await call("PATCH", `/clients/${id}`, { verification_status: "pending" });
    made.push(id);
  }
  const [pending = "", , ending = ""] = made;
  const unreadable = { rejection_reasons: ["document_unreadable"], comment: "The photo is too dark." };
  const internal_comment = "The address differs from the bank statement.";
  await call("PATCH", `/clients/${pending}`, {
    verification_status: "rejected",
    verification: { ...unreadable, internal_comment },
  });
  await call("PATCH", `/clients/${pending}`, { verification_status: "pending" });
  await call("POST", `/clients/${pending}/reviews`, { note: "Called back: will send another photo." });
  const expires_at = new Date(Date.now() + 10 * 86_400_000).toISOString();
  const verification = { expires_at, checks: ["identity_document", "address"] };
  await call("PATCH", `/clients/${ending}`, { verification_status: "verified", verification });
  return pending;
}

/** An order that waits for its price, and a trade that was closed. */
async function trade(call: SceneCall, account_id: string): Promise<void> {
  const order = { account_id, symbol: "EURUSD", side: "buy", type: "limit", lots: "0.10", price: "0.90000" };
  await call("POST", "/sandbox/orders", order);
  const opened = { account_id, symbol: "EURUSD", side: "sell", lots: "0.10" };
  const { id } = await call<Made>("POST", "/sandbox/trades", opened);
  await call("POST", `/sandbox/trades/${id}/close`, {});
}

/** A feed with a rejected item, a command, and a snapshot that has found two drifts, one of which is resolved. */
async function setFeed(call: SceneCall): Promise<Made> {
  const source = await call<Made>("POST", "/feed/sources", { name: "mt5:live-1", platform: "mt5", first_seq: "1" });
  const path = `/feed/sources/${source.id}`;
  const items = [{ seq: "1", type: "unknown", data: { platform_login: "50012345" } }];
  await call("POST", `${path}/batches`, { first_seq: "1", items });
  const names = { first_name: "Zoë", last_name: "Ångström" };
  const { id: client_id } = await call<Made>("POST", "/clients", { email: "zoe@example.com", ...names });
  const link = { platform: "mt5", platform_login: "50012345", source_id: source.id };
  const { id: account_id } = await call<Made>("POST", "/accounts", { client_id, type: "demo", ...link });
  await call("POST", "/transactions/deposit", { account_id, amount: "100.00", status: "completed" });
  const theirs = [["50012345", "0.01"] as const, ["60012345", "20.00"] as const].map(([platform_login, balance]) => ({
    ...{ platform_login, balance, credit: "0.00", positions: [] },
  }));
  const whole = { snapshot_id: "S-1", taken_at: new Date().toISOString(), as_of_seq: "1", part: 1, parts: 1 };
  await call("POST", `${path}/snapshots`, { ...whole, complete: false, accounts: theirs });
  const drifts = () => call<Listed>("GET", `/drift?source_id=${source.id}`);
  const [first] = await eventually(async () => {
    const { data } = await drifts();
    return data.length === 2 ? data : undefined;
  });
  await call("POST", `/drift/${first?.id}/resolve`, { action: "accept", reason: { code: "checked" } });
  return source;
}
