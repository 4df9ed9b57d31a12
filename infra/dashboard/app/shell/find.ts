import { read } from "../api/client.ts";

/** Something that the search found: where it is, and what it is. */
export interface Finding {
  readonly to: string;
  readonly name: string;
  readonly kind: string;
}

const pages: Readonly<Record<string, readonly [path: string, kind: string]>> = {
  cli: ["/clients/", "Client"],
  acc: ["/accounts/", "Account"],
  txn: ["/transactions?open=", "Transaction"],
  evt: ["/events?open=", "Event"],
  whe: ["/webhooks/", "Webhook endpoint"],
  dlv: ["/deliveries/", "Delivery"],
  app: ["/settings/api/", "Application"],
  opr: ["/operators?open=", "Operator"],
  aud: ["/audit?open=", "Audit entry"],
  src: ["/feeds/", "Feed"],
};

/** Where an identifier leads to, by its prefix alone; undefined for any other text. */
export function findById(text: string): Finding | undefined {
  const [, prefix = ""] = /^([a-z]{2,5})_[0-9A-Za-z]{10,}$/.exec(text) ?? [];
  const page = pages[prefix];
  return page && { to: page[0] + text, name: text, kind: page[1] };
}

type May = (scope: string) => boolean;

/** Owner of an email address, account number, login or reference, among the resources that the person may read. */
export async function find(text: string, may: May): Promise<Finding[]> {
  const byId = findById(text);
  if (byId !== undefined) return [byId];
  const searches = [
    ...(text.includes("@") && may("clients:read") ? [clientsBy("email", text)] : []),
    ...(!text.includes("@") && may("clients:read") ? [clientsBy("external_id", text)] : []),
    ...(may("accounts:read") && !text.includes("@")
      ? [accountsBy("number", text), accountsBy("platform_login", text)]
      : []),
    ...(may("transactions:read")
      ? [transactionsBy("external_id", text), transactionsBy("provider_reference", text)]
      : []),
  ];
  // A text that one of the filters refuses is no error of the search.
  const settled = await Promise.allSettled(searches);
  const found = settled.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  return [...new Map(found.map((one) => [one.to, one])).values()];
}

const limit = 5;

async function clientsBy(name: "email" | "external_id", text: string): Promise<Finding[]> {
  const { data } = await read("/clients", { query: { [name]: text, limit } });
  return data.map(({ id, email }) => ({ to: `/clients/${id}`, name: email, kind: "Client" }));
}

async function accountsBy(name: "number" | "platform_login", text: string): Promise<Finding[]> {
  const { data } = await read("/accounts", { query: { [name]: text, limit } });
  return data.map(({ id, number }) => ({ to: `/accounts/${id}`, name: number, kind: "Account" }));
}

async function transactionsBy(name: "external_id" | "provider_reference", text: string): Promise<Finding[]> {
  const { data } = await read("/transactions", { query: { [name]: text, limit } });
  return data.map(({ id }) => ({ to: `/transactions?open=${id}`, name: text, kind: "Transaction" }));
}
