import { command, read } from "../../api/client.ts";
import type { Schemas } from "../../api/types.ts";
import { ConfirmDialog } from "../../parts/dialogs.tsx";
import { EditDialog } from "../../parts/edit-dialog.tsx";
import { type Entered, type Field, FormDialog, textOf, wordsOf } from "../../parts/form-dialog.tsx";
import { dateOf, today } from "../../parts/format.ts";
import { nameOf } from "./client-name.ts";

type Client = Schemas["BrokerageClient"];

interface ClientFormProps {
  readonly client: Client;
  readonly onClose: () => void;
  readonly onDone?: (() => void) | undefined;
}

const clientFields = (now: Client): readonly Field[] => [
  { name: "email", label: "Email", first: now.email },
  { name: "phone", label: "Phone", first: now.phone ?? "", optional: true },
  { name: "status", label: "Status", kind: "choice", values: ["active", "suspended", "closed"], first: now.status },
  { name: "suspended_reason", label: "Reason of a suspension", first: now.suspended_reason ?? "", optional: true },
  { name: "risk_level", label: "Risk", kind: "choice", values: ["low", "medium", "high"], first: now.risk_level },
];

const pathOf = ({ id }: Client) => ({ id });

/** Changes a client. */
export function EditClient({ client, onClose }: ClientFormProps) {
  const path = pathOf(client);
  return (
    <EditDialog
      title={`Edit ${nameOf(client)}`}
      resource={client}
      read={() => read("/clients/{id}", { path })}
      fieldsOf={clientFields}
      bodyOf={(entered) => ({
        email: textOf(entered, "email") ?? "",
        phone: textOf(entered, "phone") ?? null,
        status: textOf(entered, "status"),
        suspended_reason: textOf(entered, "suspended_reason") ?? null,
        risk_level: textOf(entered, "risk_level"),
      })}
      send={(body, options) => command("PATCH", "/clients/{id}", { ...options, path, body })}
      onClose={onClose}
    />
  );
}

/** Facts that a person compares with a document when they decide about an identity. */
export function identityFacts(client: Client): readonly (readonly [string, string])[] {
  const { date_of_birth: born, nationality, address, country, verification_status: state } = client;
  const place = address && [address.line1, address.line2, address.postal_code, address.city, address.country];
  return [
    ["Name", nameOf(client)],
    ["Born", born === null ? "–" : dateOf(born)],
    ["Nationality", nationality ?? "–"],
    ["Country", country ?? "–"],
    ["Address", place?.filter(Boolean).join(", ") ?? "–"],
    ["Identity", state],
  ];
}

/** Years that a verification lasts unless another end is chosen, by the risk of the client. */
const yearsByRisk: Readonly<Record<string, number>> = { high: 1, medium: 2, low: 3 };

function proposedEnd({ risk_level }: Client): string {
  const now = new Date();
  now.setUTCFullYear(now.getUTCFullYear() + (yearsByRisk[risk_level] ?? 1));
  return now.toISOString().slice(0, 10);
}

const referenceFields = ({ verification: { provider, reference } }: Client): readonly Field[] => [
  { name: "provider", label: "Provider", first: provider ?? "", optional: true, placeholder: "In person" },
  {
    name: "reference",
    label: "Reference",
    first: reference ?? "",
    optional: true,
    help: "Of the case or the session.",
  },
];

const commentFields: readonly Field[] = [
  { name: "comment", label: "Comment for the client", kind: "area", optional: true, help: "Webhooks carry it." },
  {
    name: "internal_comment",
    label: "Internal comment",
    kind: "area",
    optional: true,
    help: "Kept with the decision; the client never sees it.",
  },
];

/** The comments that were entered, as members of the request. */
function commentsOf(entered: Entered) {
  const internal_comment = textOf(entered, "internal_comment");
  return { comment: textOf(entered, "comment") ?? null, ...(internal_comment !== undefined && { internal_comment }) };
}

const checks = [
  ...(["identity_document", "liveness", "address", "phone", "email"] as const),
  ...(["sanctions", "pep", "adverse_media", "source_of_funds", "company"] as const),
] satisfies readonly Client["verification"]["checks"][number][];

const digits = "The digits choose, from 1 to 9 and 0.";

const verifyFields = (now: Client): readonly Field[] => [
  { name: "checks", label: "Checks that passed", kind: "ticks", values: checks, help: digits },
  {
    name: "level",
    label: "Level",
    kind: "choice",
    values: ["basic", "full"],
    first: now.verification.level === "basic" ? "basic" : "full",
  },
  {
    name: "verified_at",
    label: "Verified on",
    kind: "date",
    optional: true,
    // The time of it makes a verification of a client who is verified a new one.
    ...(now.verification_status === "verified" && { first: today() }),
    help: "At 00:00 UTC of this day. Empty: now, where it is the first one.",
  },
  {
    name: "expires_at",
    label: "Ends on",
    kind: "date",
    first: proposedEnd(now),
    optional: true,
    help: "At 00:00 UTC of this day. Empty: never.",
  },
  ...commentFields,
  ...referenceFields(now),
];

/** Verifies an identity, as it was shown: a name that was corrected meanwhile is shown first. */
export function VerifyIdentity({ client, onClose, onDone }: ClientFormProps) {
  const path = pathOf(client);
  return (
    <EditDialog
      title={`${client.verification_status === "verified" ? "Renew" : "Verify"} ${nameOf(client)}`}
      resource={client}
      read={() => read("/clients/{id}", { path })}
      factsOf={identityFacts}
      fieldsOf={verifyFields}
      whole
      submit="Verify identity"
      bodyOf={(entered) => {
        const end = textOf(entered, "expires_at");
        const day = textOf(entered, "verified_at");
        return {
          verification_status: "verified",
          verification: {
            checks: wordsOf(entered, "checks"),
            level: textOf(entered, "level"),
            ...(day === undefined ? {} : { verified_at: `${day}T00:00:00Z` }),
            expires_at: end === undefined ? null : `${end}T00:00:00Z`,
            provider: textOf(entered, "provider") ?? null,
            reference: textOf(entered, "reference") ?? null,
            ...commentsOf(entered),
          },
        };
      }}
      send={(body, options) => command("PATCH", "/clients/{id}", { ...options, path, body })}
      onDone={onDone}
      onClose={onClose}
    />
  );
}

const reasons = [
  "identity_verification",
  "address_verification",
  "date_of_birth",
  "tax_identification",
  "pep",
  "watchlist_hit",
  "country_not_supported",
  "document_expired",
  "document_unreadable",
  "other",
] as const satisfies readonly Client["verification"]["rejection_reasons"][number][];

const rejectFields = (now: Client, retry: boolean): readonly Field[] => [
  { name: "rejection_reasons", label: "Reasons", kind: "ticks", values: reasons, help: digits },
  {
    name: "retry_allowed",
    label: "Then",
    kind: "choice",
    values: [
      ["yes", "Ask the client again"],
      ["no", "Final: only compliance goes on"],
    ],
    first: retry ? "yes" : "no",
  },
  ...commentFields,
  ...referenceFields(now),
];

/** Rejects an identity, as it was shown: the client may be asked again, or it is final. */
export function RejectIdentity({
  client,
  retry = true,
  onClose,
  onDone,
}: ClientFormProps & { readonly retry?: boolean }) {
  const path = pathOf(client);
  return (
    <EditDialog
      title={`Reject the identity of ${nameOf(client)}`}
      resource={client}
      read={() => read("/clients/{id}", { path })}
      factsOf={identityFacts}
      fieldsOf={(now) => rejectFields(now, retry)}
      whole
      danger
      submit="Reject identity"
      bodyOf={(entered) => ({
        verification_status: "rejected",
        verification: {
          rejection_reasons: wordsOf(entered, "rejection_reasons"),
          retry_allowed: textOf(entered, "retry_allowed") === "yes",
          provider: textOf(entered, "provider") ?? null,
          reference: textOf(entered, "reference") ?? null,
          ...commentsOf(entered),
        },
      })}
      send={(body, options) => command("PATCH", "/clients/{id}", { ...options, path, body })}
      onDone={onDone}
      onClose={onClose}
    />
  );
}

/** Lets an identity wait for another decision, whatever was decided before. */
export function PendIdentity({ client, onClose }: ClientFormProps) {
  const path = pathOf(client);
  return (
    <EditDialog
      title={`Decide again about ${nameOf(client)}`}
      resource={client}
      read={() => read("/clients/{id}", { path })}
      factsOf={identityFacts}
      fieldsOf={() => commentFields}
      whole
      submit="To pending"
      bodyOf={(entered) => ({ verification_status: "pending", verification: commentsOf(entered) })}
      send={(body, options) => command("PATCH", "/clients/{id}", { ...options, path, body })}
      onClose={onClose}
    />
  );
}

/** Adds a note for the staff. */
export function AddNote({ client, onClose }: ClientFormProps) {
  return (
    <FormDialog
      title={`Note on ${nameOf(client)}`}
      fields={[
        { name: "note", label: "Note", kind: "area", help: "Only your staff can read it. It cannot be changed later." },
      ]}
      submit="Add note"
      run={(entered, key) => {
        const body = { note: textOf(entered, "note") ?? "" };
        return command("POST", "/clients/{id}/reviews", { key, path: pathOf(client), body });
      }}
      onClose={onClose}
    />
  );
}

/** Simulates the result of an identity check, in the sandbox alone. */
export function SimulateIdentity({
  client,
  result,
  onClose,
}: ClientFormProps & { readonly result: "verify" | "reject" }) {
  return (
    <ConfirmDialog
      title={result === "verify" ? "Simulate a passed check" : "Simulate a failed check"}
      text={`The sandbox's identity provider ${result === "verify" ? "verifies" : "rejects"} ${nameOf(client)}.`}
      word="Simulate"
      version={client.version}
      run={(key) => command("POST", `/sandbox/clients/{id}/${result}`, { key, path: pathOf(client) })}
      onClose={onClose}
    />
  );
}
