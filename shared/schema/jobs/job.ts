import * as z from "zod/mini";
import { ListAccountsQuery } from "../account.ts";
import { ListClientsQuery } from "../client.ts";
import { described } from "../described.ts";
import { Address, id, identifier, ownFields, pageParameters, setOf, Timestamp, TimestampInput } from "../fields.ts";
import { ListTradesQuery } from "../trade.ts";
import { ListTransactionsQuery } from "../transaction.ts";

/** Types of jobs: each exports one kind of rows. */
export const JobType = z.enum(["transactions", "trades", "clients", "accounts", "ledger", "balances", "events"]);

/** Statuses of a job; the last three are final. */
export const JobStatus = z.enum(["queued", "running", "succeeded", "failed", "cancelled"]);

const format = described(
  z.optional(z.enum(["csv", "ndjson"])),
  "Form of the files: CSV (RFC 4180), as by default, or one JSON object in a line.",
);
const include_names = described(
  z.optional(z.boolean()),
  "Adds `account_number` and `client_name` to each row, as they are when it is read. Needs the scopes " +
    "`clients:read` and `accounts:read`.",
);
const names = { format, include_names };

const { created_from, created_to, kind, status, method, account_id, client_id } = ListTransactionsQuery.shape;
const { open_from, open_to, close_from, close_to, symbol, side, close_reason } = ListTradesQuery.shape;
const { verification_status, country, tag } = ListClientsQuery.shape;
const { type, currency, group_id } = ListAccountsQuery.shape;
const created = { created_from, created_to };

const ofAccounts = {
  account_id: described(z.optional(id("acc")), "Of this account alone."),
  client_id: described(z.optional(id("cli")), "Of the accounts of this client alone."),
  format,
};

const sequence = z.optional(z.string().check(z.regex(/^(?:0|[1-9]\d{0,14})$/, "must be a whole number")));

/** Export of transactions. */
const TransactionExport = z.strictObject({ ...created, kind, status, method, account_id, client_id, ...names });
/** Export of trades. */
const TradeExport = z.strictObject({
  ...{ open_from, open_to, close_from, close_to, status: ListTradesQuery.shape.status },
  ...{ symbol, side, close_reason, account_id, ...names },
});
/** Export of clients. */
const ClientExport = z.strictObject({
  ...{ ...created, status: ListClientsQuery.shape.status, verification_status, country, tag, format },
});
/** Export of accounts. */
const AccountExport = z.strictObject({
  ...{ ...created, status: ListAccountsQuery.shape.status, type, currency, group_id, ...names },
});
/** Export of ledger entries. */
const LedgerExport = z.strictObject({
  from: described(z.optional(TimestampInput), "Entries made at or after this time."),
  to: described(TimestampInput, "Entries made before this time, at least 15 minutes ago."),
  ...ofAccounts,
});
/** Export of balances. */
const BalanceExport = z.strictObject({
  at: described(TimestampInput, "Balances at this time, at least 15 minutes ago: without what was booked at it."),
  ...ofAccounts,
});
/** Export of events. */
const EventExport = z.strictObject({
  after_sequence: described(sequence, "Events with a higher sequence number; all that are kept without it."),
  to_sequence: described(sequence, "Events up to this sequence number; up to the newest one without it."),
});

/** Parameters of each type, as they are checked. */
export const exportParameters = {
  transactions: TransactionExport,
  trades: TradeExport,
  clients: ClientExport,
  accounts: AccountExport,
  ledger: LedgerExport,
  balances: BalanceExport,
  events: EventExport,
} as const satisfies Readonly<Record<z.infer<typeof JobType>, z.ZodMiniType>>;

/** A filter of any type; the type has a rule of its own besides. */
const filter = (what: string) => described(z.optional(identifier(2000)), what);
const ofList = (types: string, what: string) => filter(`Of ${types}: ${what}.`);

/**
 * Parameters of all types together, as the document describes them. Filters that name one resource are none of an
 * export.
 */
export const JobParameters = z.strictObject({
  format,
  include_names,
  created_from: ofList("transactions, clients and accounts", "created at or after this time"),
  created_to: ofList("the same", "created before this time"),
  open_from: ofList("trades", "opened at or after this time"),
  open_to: ofList("trades", "opened before this time"),
  close_from: ofList("trades", "closed at or after this time"),
  close_to: ofList("trades", "closed before this time"),
  status: ofList("lists", "statuses"),
  kind: ofList("transactions", "transaction types"),
  method: ofList("transactions", "payment methods"),
  symbol: ofList("trades", "symbol names"),
  side: ofList("trades", "sides"),
  close_reason: ofList("trades", "closing reasons"),
  verification_status: ofList("clients", "verification statuses"),
  country: ofList("clients", "country"),
  tag: ofList("clients", "tag"),
  type: ofList("accounts", "account types"),
  currency: ofList("accounts", "currencies"),
  group_id: ofList("accounts", "group"),
  account_id: filter("Of transactions, trades, ledger and balances: of this account alone."),
  client_id: filter("Of transactions, ledger and balances: of this client alone."),
  from: filter("Of the ledger: entries made at or after this time."),
  to: filter("Of the ledger, required: entries made before this time, at least 15 minutes ago."),
  at: filter("Of balances, required: balances at this time, at least 15 minutes ago, without what was booked at it."),
  after_sequence: filter("Of events: those with a higher sequence number; all that are kept without it."),
  to_sequence: filter("Of events: those up to this sequence number; up to the newest one without it."),
});

/** Body of `POST /jobs`. */
export const CreateJobRequest = z.strictObject({
  type: described(JobType, "Kind of rows to export."),
  parameters: described(JobParameters, "Which rows to export, and how; each type has its own."),
});

/** Query of `GET /jobs`. */
export const ListJobsQuery = z.strictObject({
  ...pageParameters,
  type: described(z.optional(setOf(JobType.options)), "Job types, separated by commas."),
  status: described(z.optional(setOf(JobStatus.options)), "Job statuses, separated by commas."),
});

/** A file of a result. */
export const JobFile = z.object({
  name: described(z.string(), "Name of the file. One that ends with `.gz` is compressed (RFC 1952)."),
  rows: described(z.int(), "Number of rows."),
  bytes: described(z.int(), "Size of the file in bytes."),
  sha256: described(z.string(), "SHA-256 of the file, hexadecimal."),
});

/** A job. */
export const Job = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("job"), "Resource type; always this value."),
  type: described(JobType, "Kind of rows that are exported."),
  status: described(JobStatus, "Status of the job: `queued`, `running`, or how it ended."),
  parameters: described(JobParameters, "Parameters of the request."),
  progress: described(
    z.object({
      percent: described(z.int(), "How far it is, in percent; 100 once it has succeeded."),
      rows: described(z.int(), "Rows written so far."),
      files: described(z.int(), "Files written so far."),
    }),
    "Progress of the job.",
  ),
  error: described(
    z.nullable(
      z.object({
        code: described(
          z.enum(["not_completed", "too_large", "sandbox_reset"]),
          "Why the job failed: `not_completed` (a part failed again and again, or it took a day), `too_large` or " +
            "`sandbox_reset`.",
        ),
        detail: described(z.string(), "What happened, in one sentence."),
      }),
    ),
    "Why the job failed; null otherwise.",
  ),
  as_of: described(Timestamp, "The export has what was made before this time."),
  created_by: described(z.string(), "Identifier of the application or operator that started the job."),
  started_at: described(z.nullable(Timestamp), "Time when the work began; null before."),
  completed_at: described(z.nullable(Timestamp), "Time when the job ended; null before."),
  downloads: described(z.int(), "How many times links to the files were given out."),
  result: described(
    z.nullable(
      z.object({
        rows: described(z.int(), "Number of rows of all files."),
        bytes: described(z.int(), "Size of all files in bytes."),
        unreadable: described(z.int(), "Number of rows left out because their stored items cannot be read."),
        files: described(z.array(JobFile), "Files, in the order of their rows."),
        sha256: described(z.string(), "SHA-256 of the manifest, which has those of the files; hexadecimal."),
        expires_at: described(Timestamp, "Time from which the files cannot be had any more."),
      }),
    ),
    "Result of a job that succeeded; null otherwise.",
  ),
  ...ownFields,
});

/** Links to the files of a job. */
export const JobLinks = z.object({
  object: described(z.literal("job_links"), "Resource type; always this value."),
  files: described(
    z.array(
      z.object({
        name: described(z.string(), "Name of the file."),
        signed_url: described(Address, "Address of the file; any holder of it can read the file."),
        expires_at: described(Timestamp, "Time when the address ends."),
      }),
    ),
    "The manifest, which names each file with its rows and its SHA-256, and then the files.",
  ),
});

/** A job on the wire. */
export type JobBody = z.infer<typeof Job>;
/** A request for a job. */
export type CreateJob = z.infer<typeof CreateJobRequest>;
