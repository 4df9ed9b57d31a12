import { command, read } from "../../api/client.ts";
import type { Schemas } from "../../api/types.ts";
import { EditDialog } from "../../parts/edit-dialog.tsx";
import { type Field, textOf, wordsOf } from "../../parts/form-dialog.tsx";
import { dateOf } from "../../parts/format.ts";
import { nameOf } from "./client-name.ts";

type Client = Schemas["BrokerageClient"];

interface ClientFormProps {
  readonly client: Client;
  readonly onClose: () => void;
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
function identityFacts(client: Client): readonly (readonly [string, string])[] {
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

function proposedEnd({ verification, risk_level }: Client): string {
  const { expires_at } = verification;
  const now = new Date();
  if (expires_at !== null && Date.parse(expires_at) > now.getTime()) return expires_at.slice(0, 10);
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

const verifyFields = (now: Client): readonly Field[] => [
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
    help: "Where another system verified it before, at 00:00 UTC. Empty: now.",
  },
  {
    name: "expires_at",
    label: "Ends on",
    kind: "date",
    first: proposedEnd(now),
    optional: true,
    help: "At 00:00 UTC of this day. Empty: never.",
  },
  ...referenceFields(now),
];

/** Verifies an identity, as it was shown: a name that was corrected meanwhile is shown first. */
export function VerifyIdentity({ client, onClose }: ClientFormProps) {
  const path = pathOf(client);
  return (
    <EditDialog
      title={`Verify ${nameOf(client)}`}
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
            level: textOf(entered, "level"),
            ...(day === undefined ? {} : { verified_at: `${day}T00:00:00Z` }),
            expires_at: end === undefined ? null : `${end}T00:00:00Z`,
            provider: textOf(entered, "provider") ?? null,
            reference: textOf(entered, "reference") ?? null,
          },
        };
      }}
      send={(body, options) => command("PATCH", "/clients/{id}", { ...options, path, body })}
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

const rejectFields = (now: Client): readonly Field[] => [
  { name: "rejection_reasons", label: "Reasons", kind: "ticks", values: reasons },
  ...referenceFields(now),
];

/** Rejects an identity, as it was shown. */
export function RejectIdentity({ client, onClose }: ClientFormProps) {
  const path = pathOf(client);
  return (
    <EditDialog
      title={`Reject the identity of ${nameOf(client)}`}
      resource={client}
      read={() => read("/clients/{id}", { path })}
      factsOf={identityFacts}
      fieldsOf={rejectFields}
      whole
      danger
      submit="Reject identity"
      bodyOf={(entered) => ({
        verification_status: "rejected",
        verification: {
          rejection_reasons: wordsOf(entered, "rejection_reasons"),
          provider: textOf(entered, "provider") ?? null,
          reference: textOf(entered, "reference") ?? null,
        },
      })}
      send={(body, options) => command("PATCH", "/clients/{id}", { ...options, path, body })}
      onClose={onClose}
    />
  );
}
