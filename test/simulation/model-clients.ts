import type { Of } from "./model-books.ts";
import { type Books, type Expected, isOpen, type ModelClient, nothing, profileOf, refused } from "./model-books.ts";

export function createClient(books: Books, { email, external_id }: Of<"create_client">, id: string): Expected {
  const others = [...books.clients.values()];
  if (others.some((each) => each.email === email && each.status !== "closed")) return refused(409, "email_taken");
  if (external_id !== null && others.some((each) => each.external_id === external_id)) {
    return refused(409, "external_id_taken");
  }
  const client: ModelClient = {
    email,
    external_id,
    status: "active",
    verification_status: "unverified",
    detailed: false,
    version: 1,
  };
  books.clients.set(id, client);
  return { status: 201, shows: { id, email, external_id, status: "active", version: 1 } };
}

export function moveClient(books: Books, { client: id, to }: Of<"client_status">): Expected {
  const client = books.clients.get(id);
  if (client === undefined) return nothing;
  if (client.status !== to) {
    if (client.status === "closed") return refused(409, "illegal_transition");
    const open = [...books.accounts.values()].some((each) => each.client_id === id && each.status !== "closed");
    if (to === "closed" && open) return refused(409, "client_has_open_accounts");
    client.status = to;
    client.version += 1;
  }
  return { status: 200, shows: { id, status: to, version: client.version } };
}

const verifications: Readonly<Record<ModelClient["verification_status"], readonly string[]>> = {
  unverified: ["pending", "verified", "rejected"],
  pending: ["verified", "rejected", "unverified"],
  verified: ["pending", "rejected"],
  rejected: ["pending", "verified"],
  expired: ["pending", "verified"],
};

export function verifyClient(books: Books, { client: id, to, details, reasons }: Of<"verification">): Expected {
  const client = books.clients.get(id);
  if (client === undefined) return nothing;
  const from = client.verification_status;
  const detailed = client.detailed || details;
  if (from !== to) {
    if (!verifications[from].includes(to)) return refused(409, "illegal_transition");
    if (to === "pending" && !detailed) return refused(422, "validation_failed");
    if (to === "rejected" && !reasons) return refused(422, "validation_failed");
  }
  if (from !== to || detailed !== client.detailed) {
    if (client.status === "closed") return refused(409, "client_closed");
    client.verification_status = to;
    client.detailed = detailed;
    client.version += 1;
  }
  return { status: 200, shows: { id, verification_status: to, version: client.version } };
}

export function openAccount(books: Books, { client: owner, type, currency }: Of<"open_account">, id: string): Expected {
  const client = books.clients.get(owner);
  if (client === undefined) return refused(422, "client_not_found");
  if (client.status !== "active") return refused(409, `client_${client.status}`);
  const unverified = client.verification_status !== "verified";
  if (books.require_verified_client === "live_account" && type === "live" && unverified) {
    return refused(409, "client_not_verified");
  }
  books.accounts.set(id, {
    client_id: owner,
    currency,
    status: "active",
    trading_mode: "full",
    mode_before: "full",
    balance: 0n,
    held: 0n,
    entries: 0,
    version: 1,
  });
  return { status: 201, shows: { id, client_id: owner, currency, status: "active", version: 1 } };
}

export function moveAccount(books: Books, { account: id, to }: Of<"account_status">): Expected {
  const account = books.accounts.get(id);
  if (account === undefined) return nothing;
  const from = account.status;
  if (from !== to) {
    const legal = (from === "active" && to === "disabled") || (from === "disabled" && to !== "disabled");
    if (!legal) return refused(409, "illegal_transition");
    const open = [...books.transactions.values()].some((each) => each.account_id === id && isOpen(each));
    if (to === "closed" && (open || account.balance !== 0n)) return refused(409, "account_not_empty");
    if (to === "disabled") account.mode_before = account.trading_mode;
    // An account that comes back with a debt only closes.
    const back = account.balance < 0n && account.mode_before === "full" ? "close_only" : account.mode_before;
    if (to !== "closed") account.trading_mode = to === "disabled" ? "none" : back;
    account.status = to;
    account.version += 1;
  }
  return { status: 200, shows: { id, ...profileOf(account) } };
}

export function setMode(books: Books, { account: id, to }: Of<"trading_mode">): Expected {
  const account = books.accounts.get(id);
  if (account === undefined) return nothing;
  if (account.trading_mode !== to) {
    if (account.status !== "active") return refused(409, "account_disabled");
    account.trading_mode = to;
    account.version += 1;
  }
  return { status: 200, shows: { id, ...profileOf(account) } };
}
