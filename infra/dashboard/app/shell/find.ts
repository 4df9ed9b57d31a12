import { read } from "../api/client.ts";
import { ApiError } from "../api/problem.ts";
import type { Schemas } from "../api/types.ts";
import { nameOf } from "../pages/customers/client-name.ts";

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
  job: ["/exports?open=", "Export"],
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

/** How many clients are shown while a text is typed. */
const shown = 8;

/** The clients that a text is the beginning of, while it is typed: of their name, address, phone or account number. */
export async function suggestions(text: string): Promise<Finding[]> {
  return (await clientsBeginning(text)).map(findingOf);
}

/**
 * Resources that the person may read: those with the text as their address, number, login or reference, or else the
 * clients that it is the beginning of.
 */
export async function find(text: string, may: May): Promise<Finding[]> {
  const byId = findById(text);
  if (byId !== undefined) return [byId];
  const clients = may("clients:read") ? clientsBeginning(text) : [];
  const whole = [
    Promise.resolve(clients).then((found) => found.filter((client) => isWhole(client, text)).map(findingOf)),
    ...(may("accounts:read") && !text.includes("@")
      ? [accountsBy("number", text), accountsBy("platform_login", text)]
      : []),
    ...(may("transactions:read")
      ? [transactionsBy("external_id", text), transactionsBy("provider_reference", text)]
      : []),
  ];
  // A text that one of the filters refuses is no error of the search.
  const settled = await Promise.allSettled(whole);
  const found = settled.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  const distinct = [...new Map(found.map((one) => [one.to, one])).values()];
  return distinct.length > 0 ? distinct : (await clients).map(findingOf);
}

const limit = 5;

type Client = Schemas["BrokerageClient"];

/** None for a text that is too short or too long to be searched for. */
async function clientsBeginning(text: string): Promise<readonly Client[]> {
  try {
    return (await read("/clients", { query: { search: text, limit: shown } })).data;
  } catch (error) {
    if (error instanceof ApiError && error.problem.status === 400) return [];
    throw error;
  }
}

function isWhole({ email, external_id }: Client, text: string): boolean {
  return email === text.toLowerCase() || external_id === text;
}

function findingOf(client: Client): Finding {
  return { to: `/clients/${client.id}`, name: nameOf(client), kind: "Client" };
}

async function accountsBy(name: "number" | "platform_login", text: string): Promise<Finding[]> {
  const { data } = await read("/accounts", { query: { [name]: text, limit } });
  return data.map(({ id, number }) => ({ to: `/accounts/${id}`, name: number, kind: "Account" }));
}

async function transactionsBy(name: "external_id" | "provider_reference", text: string): Promise<Finding[]> {
  const { data } = await read("/transactions", { query: { [name]: text, limit } });
  return data.map(({ id }) => ({ to: `/transactions?open=${id}`, name: text, kind: "Transaction" }));
}
