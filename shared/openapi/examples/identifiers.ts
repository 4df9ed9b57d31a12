/** Base URL of the links in the examples. */
export const exampleBaseUrl = "https://api.brokerage.example/v2";

/** Identifiers of the examples, by the collection in the path. Tests replace them by real ones. */
export const exampleIds: Readonly<Record<string, string>> = {
  clients: "cli_01JD0000000000000000000001",
  accounts: "acc_01JD0000000000000000000002",
  transactions: "txn_01JD0000000000000000000003",
  events: "evt_01JD0000000000000000000004",
  audit_log: "aud_01JD000000000000000000000H",
  applications: "app_01JD0000000000000000000006",
  operators: "opr_01JD000000000000000000000J",
  webhook_endpoints: "whe_01JD0000000000000000000008",
  deliveries: "dlv_01JD0000000000000000000009",
  feed: "src_01JD000000000000000000000B",
  drift: "drf_01JD000000000000000000000G",
  jobs: "job_01JD000000000000000000000N",
  trades: "trd_01JD000000000000000000000A",
  positions: "pos_01JD000000000000000000000B",
  orders: "ord_01JD000000000000000000000C",
};

/** The collection of a path: `clients` of `/clients/{id}` and of `/sandbox/clients/{id}/verify`. */
export function collectionOf(path: string): string {
  const [first = "", second = ""] = path.split("/").slice(1);
  return first === "sandbox" ? second : first;
}

/** Values of path parameters other than identifiers, by name. */
export const exampleNames: Readonly<Record<string, string>> = {
  symbol: "EURUSD",
  seq: "921",
  command_id: "cmd_01JD000000000000000000000F",
  snapshot_id: "S-1",
};

/** Identifiers that several examples share. */
export const { clients: client_id, accounts: account_id, transactions: transaction_id, events: event_id } = exampleIds;

/** Identifier of the brokerage. */
export const tenantId = "brk_01JD0000000000000000000007";

/** Request identifier of the examples. */
export const exampleRequestId = "5f0d7c7e-4d9e-4a43-9b0e-0f6f5a0c2d11";

/** The application that causes the changes of the examples. */
export const actor = {
  type: "application",
  id: exampleIds["applications"] ?? "",
  name: "CRM",
  operator_ids: [exampleIds["operators"] ?? ""],
};

/** Time of creation in the examples. */
export const created_at = "2026-11-21T06:30:00.123Z";

/** Time of the last change in the examples. */
export const completed_at = "2026-11-21T06:31:12.456Z";

/** Links with absolute URLs, from paths by relation. */
export const links = (targets: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(targets).map(([relation, path]) => [relation, { href: exampleBaseUrl + path }]));

/** The client in short, where a list shows whose an item is. */
export const shownClient = {
  ...{ id: client_id, object: "client", type: "individual", name: "Ana Silva", external_id: null },
  ...{ status: "active", verification_status: "verified", _links: links({ self: `/clients/${client_id}` }) },
} as const;
