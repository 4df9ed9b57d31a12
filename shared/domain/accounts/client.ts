import { limits } from "../../limits.ts";
import type { ClientBody, ClientSummaryBody, CreateClient, UpdateClient } from "../../schema/client.ts";
import { type DrawnPersonKey, keepPersonKey } from "../access/person-key.ts";
import {
  type Context,
  type DomainEvent,
  type FieldError,
  later,
  refuse,
  refuseField,
  refuseFields,
  unchanged,
} from "../kernel/decision.ts";
import { sameValue } from "../kernel/equality.ts";
import { mergeMetadata } from "../kernel/metadata.ts";
import type { Change, Decision } from "../records/change.ts";
import type { Client } from "../records/client.ts";
import { findAgain, findNew } from "./finding.ts";
import { reviewOf, stillOpen } from "./review.ts";
import { amendVerification, refuseMove, required, standing } from "./verification.ts";

type Patch = UpdateClient;

const statusMoves: Readonly<Record<Client["status"], readonly Client["status"][]>> = {
  active: ["suspended", "closed"],
  suspended: ["active", "closed"],
  closed: [],
};

/** The client as GET shows it. */
export function clientBody(client: Client): ClientBody {
  const { tenant_id: _tenant, open_accounts: _open, audit_key: _key, ...fields } = client;
  return {
    ...fields,
    object: "client",
    name: nameOf(client),
    _links: {
      self: { href: `/v2/clients/${client.id}` },
      accounts: { href: `/v2/clients/${client.id}/accounts` },
    },
  } as ClientBody;
}

/** The name of the company, or the names of the person with a space between them. */
function nameOf({ first_name, middle_name, last_name, company_name }: Client): string {
  return company_name ?? [first_name, middle_name, last_name].filter((one) => one !== null).join(" ");
}

/** The client in short. */
export function clientSummary(client: Client): ClientSummaryBody {
  const { id, type, external_id, status, verification_status } = client;
  const name = nameOf(client);
  const _links = { self: { href: `/v2/clients/${id}` } };
  return { id, object: "client", type, name, external_id, status, verification_status, _links };
}

/**
 * Decides `POST /clients`: the email, and the external id when given, must be free in the tenant. The keys seal and
 * open what the audit keeps of the client.
 */
export function openClient(request: CreateClient, keys: DrawnPersonKey, context: Context): Decision<Client> {
  const type = request.type ?? "individual";
  const missing = missingNames(type, request);
  if (missing.length > 0) return refuseFields(missing);
  if (request.date_of_birth && isUnderage(request.date_of_birth, context.now)) return refuseAge();
  const id = context.newId("cli");
  const client: Client = {
    id,
    tenant_id: context.tenant_id,
    type,
    email: request.email,
    first_name: request.first_name ?? null,
    last_name: request.last_name ?? null,
    company_name: request.company_name ?? null,
    registration_number: request.registration_number ?? null,
    external_id: request.external_id ?? null,
    middle_name: request.middle_name ?? null,
    phone: request.phone ?? null,
    date_of_birth: request.date_of_birth ?? null,
    nationality: request.nationality ?? null,
    country: request.country ?? null,
    address: request.address ?? null,
    language: request.language ?? "en",
    time_zone: request.time_zone ?? "UTC",
    classification: request.classification ?? "retail",
    risk_level: request.risk_level ?? "low",
    tags: request.tags ?? [],
    status: "active",
    suspended_reason: null,
    closed_at: null,
    verification_status: "unverified",
    verification: {
      level: "none",
      provider: null,
      reference: null,
      submitted_at: null,
      verified_at: null,
      verified_by: null,
      expires_at: null,
      checks: [],
      rejection_reasons: [],
      retry_allowed: null,
      comment: null,
    },
    account_count: 0,
    open_accounts: 0,
    audit_key: keys.public_key,
    created_at: context.now,
    updated_at: context.now,
    version: 1,
    metadata: request.metadata ?? {},
  };
  const changes: Change[] = [
    { op: "create", entity: "client", item: client },
    keepPersonKey(client, keys),
    claimEmail(client.email, id),
    ...findNew(client),
  ];
  if (client.external_id !== null) changes.push(claimExternalId(client.external_id, id));
  return { ok: true, result: client, changes, events: [clientEvent("client.created", client)] };
}

/** Decides `PATCH /clients/{id}`. An empty patch, or one that says what is already so, changes nothing. */
export function amendClient(client: Client, patch: Patch, context: Context): Decision<Client> {
  const status = amendStatus(client, patch, context);
  if (!status.ok) return status;
  const verification = amendVerification(client, patch, context);
  if (!verification.ok) return verification;
  const metadata = mergeMetadata(client.metadata, patch.metadata ?? {});
  if (!metadata.ok) return metadata;
  const {
    status: _s,
    verification: _v,
    verification_status: _vs,
    metadata: _m,
    suspended_reason: _r,
    address,
    ...profile
  } = patch;
  const merged = {
    ...client,
    ...profile,
    ...(address === undefined ? {} : { address: address && { ...client.address, ...address } }),
    ...verification.result.state,
    ...status.result,
    metadata: metadata.result,
  } as Client;
  const missing = missingNames(merged.type, { ...merged });
  if (missing.length > 0) return refuseFields(missing);
  if (merged.date_of_birth !== null && isUnderage(merged.date_of_birth, context.now)) return refuseAge();
  // A verification that has ended is stored with the next change of anything else, or by the sweep.
  const { state, from, is_decision } = verification.result;
  const before = { ...client, verification_status: from };
  const isSame = sameValue(merged, before);
  const { internal_comment } = patch.verification ?? {};
  if (isSame && internal_comment === undefined) return unchanged(client);
  if (client.status === "closed") return refuse("client_closed", "A closed client cannot be changed.");
  const isDecided =
    is_decision && !(sameValue(state.verification, client.verification) && state.verification_status === from);
  const review =
    isDecided || internal_comment !== undefined
      ? [reviewOf(client, from, state, internal_comment ?? null, context)]
      : [];
  if (isSame) return { ok: true, result: client, changes: [...review, stillOpen(client.id)], events: [] };
  const changed = changedClient(client, merged, context);
  return changed.ok ? { ...changed, changes: [...changed.changes, ...review] } : changed;
}

/**
 * Decides, in the name of the system, what becomes of a verification whose `expires_at` has come: the status of the
 * client is `expired` from then on (domain 2.2). Nothing changes before that, and of a closed client nothing at all.
 */
export function expireVerification(client: Client, context: Context): Decision<Client> {
  const verification_status = standing(client, context.now);
  if (verification_status === client.verification_status) return unchanged(client);
  return changedClient(client, { ...client, verification_status }, context);
}

/** The change of a client to what a decision made of it, with its events. */
function changedClient(client: Client, made: Client, context: Context): Decision<Client> {
  const after: Client = { ...made, updated_at: later(client.updated_at, context.now), version: client.version + 1 };
  const verified = standing(client, context.now) !== "verified" && after.verification_status === "verified";
  const previous = {
    status: client.status,
    verification_status: client.verification_status,
    version: client.version,
  };
  return {
    ok: true,
    result: after,
    changes: [
      {
        op: "update",
        entity: "client",
        before: client,
        after,
        ...(after.status === "closed" ? { require: [{ attribute: "open_accounts", is: "equal", value: 0 }] } : {}),
      },
      ...moveMarkers(client, after),
      ...findAgain(client, after),
    ],
    events: [...(verified ? ["client.verified" as const] : []), "client.updated" as const].map((type) =>
      clientEvent(type, after, previous),
    ),
  };
}

function amendStatus(
  client: Client,
  patch: Patch,
  context: Context,
): Decision<Pick<Client, "status" | "suspended_reason" | "closed_at">> {
  const from = client.status;
  const to = patch.status ?? from;
  const reason = patch.suspended_reason === undefined ? client.suspended_reason : patch.suspended_reason;
  if (to === from) {
    if (patch.suspended_reason && to !== "suspended") {
      return refuseField("validation_failed", "suspended_reason", "goes with the status suspended only", "not_allowed");
    }
    return unchanged({ status: from, suspended_reason: reason, closed_at: client.closed_at });
  }
  const allowed = statusMoves[from];
  if (!allowed.includes(to)) return refuseMove("status", from, to, allowed);
  if (to === "closed" && client.open_accounts > 0) {
    return refuse("client_has_open_accounts", `The client has ${client.open_accounts} open accounts.`);
  }
  return unchanged({
    status: to,
    suspended_reason: to === "suspended" ? reason : null,
    closed_at: to === "closed" ? context.now : null,
  });
}

function moveMarkers(before: Client, after: Client): Change[] {
  const changes: Change[] = [];
  const closes = after.status === "closed" && before.status !== "closed";
  if (before.email !== after.email || closes) {
    changes.push({ op: "release", kind: "client_email", value: before.email, owner: before.id });
    if (!closes) changes.push(claimEmail(after.email, after.id));
  }
  if (before.external_id !== after.external_id) {
    if (before.external_id !== null) {
      changes.push({ op: "release", kind: "client_external_id", value: before.external_id, owner: before.id });
    }
    if (after.external_id !== null) changes.push(claimExternalId(after.external_id, after.id));
  }
  return changes;
}

function claimEmail(email: string, owner: string): Change {
  const detail = "is the address of another client";
  return {
    op: "claim",
    kind: "client_email",
    value: email,
    owner,
    refusal: {
      code: "email_taken",
      detail: `The email address ${detail}.`,
      errors: [{ pointer: "#/email", code: "taken", detail }],
    },
  };
}

function claimExternalId(value: string, owner: string): Change {
  const detail = "belongs to another client";
  return {
    op: "claim",
    kind: "client_external_id",
    value,
    owner,
    refusal: {
      code: "external_id_taken",
      detail: `The external id ${detail}.`,
      errors: [{ pointer: "#/external_id", code: "taken", detail }],
    },
  };
}

function clientEvent(
  type: "client.created" | "client.verified" | "client.updated",
  client: Client,
  previous?: Readonly<Record<string, unknown>>,
): DomainEvent {
  return {
    type,
    resource: { type: "client", id: client.id, version: client.version },
    client_id: client.id,
    account_id: null,
    object: clientBody(client),
    ...(previous ? { previous } : {}),
  };
}

/** A person may have one name only; a company has a name. */
function missingNames(
  type: Client["type"],
  fields: { first_name?: unknown; last_name?: unknown; company_name?: unknown },
): FieldError[] {
  const names = type === "individual" ? (["first_name", "last_name"] as const) : (["company_name"] as const);
  return names.some((name) => typeof fields[name] === "string") ? [] : names.map(required);
}

function refuseAge() {
  const years = limits.client.min_age_years;
  return refuseField("client_underage", "date_of_birth", `A client must be ${years} years or older.`, "too_young");
}

/** Whether the birthday that makes 18 years lies after `now`; someone born on 29 February comes of age on 1 March. */
export function isUnderage(dateOfBirth: string, now: string): boolean {
  const [year = 0, month = 1, day = 1] = dateOfBirth.split("-").map(Number);
  return Date.UTC(year + limits.client.min_age_years, month - 1, day) > Date.parse(now);
}
