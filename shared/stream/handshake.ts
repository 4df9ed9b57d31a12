import { applicationActor } from "../domain/access/application.ts";
import { familyLives } from "../domain/access/family.ts";
import { operatorActor } from "../domain/access/operator.ts";
import { sessionLives } from "../domain/access/session.ts";
import type { Application } from "../domain/records/application.ts";
import type { Family } from "../domain/records/family.ts";
import type { Operator } from "../domain/records/operator.ts";
import { allowsStream, credentialOf } from "../domain/stream/handshake.ts";
import type { StreamTicket } from "../domain/stream/ticket.ts";
import { type Authorized, authorizeBearer } from "../oauth/authorize.ts";
import {
  type AccessAttempt,
  applicationParty,
  endedAccess,
  operatorParty,
  reportAccessRefusal,
} from "../oauth/token-audit.ts";
import { scopesOf } from "../roles.ts";
import { addressInRanges } from "../runtime/address.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { applications, families, operators } from "../table/entities.ts";
import { readAll, readKeys } from "../table/store.ts";
import { takeTicket } from "./tickets.ts";

/** Opens a connection. */
type Holder = Omit<Authorized, "gateway_key">;

/** Credentials and origin of a handshake. */
export interface Handshake {
  readonly authorization: readonly string[];
  readonly query: Readonly<Record<string, readonly string[] | undefined>>;
  readonly attempt: AccessAttempt;
}

/**
 * Decides on a handshake.
 * @returns who opens the connection and whether they may; undefined when no good credential is shown, for whatever
 * reason
 */
export async function decideHandshake({
  authorization,
  query,
  attempt,
}: Handshake): Promise<{ readonly holder: Holder; readonly allowed: boolean } | undefined> {
  const credential = credentialOf(authorization, query);
  if (credential.type === "none") return undefined;
  const holder =
    credential.type === "bearer"
      ? await authorizeBearer(authorization, attempt)
      : await holderOf(await takeTicket(credential.ticket), attempt);
  if (holder === undefined) return undefined;
  const refusal = refusalOf(holder, attempt.address);
  if (refusal !== undefined) await reportAccessRefusal(holder, "authenticate", attempt, refusal);
  return { holder, allowed: refusal === undefined };
}

function refusalOf({ scopes, allowed_ips }: Holder, address: string) {
  if (!allowsStream(scopes)) return "insufficient_scope";
  if (allowed_ips.length > 0 && !addressInRanges(address, allowed_ips)) return "address_not_allowed";
  return undefined;
}

/** The holder of a ticket as they are now: who was revoked or suspended since then has no access. */
async function holderOf(ticket: StreamTicket | undefined, attempt: AccessAttempt): Promise<Holder | undefined> {
  if (ticket === undefined) return undefined;
  return ticket.holder.type === "operator" ? operatorOf(ticket, attempt) : applicationOf(ticket, attempt);
}

async function applicationOf(ticket: StreamTicket, attempt: AccessAttempt): Promise<Holder | undefined> {
  const { tenant_id, client_id, family_id } = ticket;
  const [stored, family] = await readKeys([
    applications.key(tenant_id, ticket.holder.id),
    ...(family_id === undefined ? [] : [families.key(tenant_id, family_id)]),
  ]);
  const application = stored as Application | undefined;
  if (application?.status === "revoked") {
    await reportAccessRefusal(applicationParty(application), "authenticate", attempt, "application_revoked");
  }
  if (application?.status !== "active") return undefined;
  if (family_id !== undefined && !familyLives(family as Family | undefined, application, nowMs())) return undefined;
  const { allowed_ips, source_ids } = application;
  const actor = applicationActor(application);
  const scopes = held(ticket, application.scopes);
  return {
    ...{ tenant_id, actor, client_id, ...(family_id !== undefined && { family_id }), scopes, allowed_ips },
    ...(source_ids !== undefined && { source_ids }),
  };
}

async function operatorOf(ticket: StreamTicket, attempt: AccessAttempt): Promise<Holder | undefined> {
  const { tenant_id, client_id, session } = ticket;
  const [operator] = await readAll<Operator>(operators, [operators.key(tenant_id, ticket.holder.id)]);
  const ended = operator && endedAccess(operator);
  if (operator && ended) await reportAccessRefusal(operatorParty(operator), "authenticate", attempt, ended);
  if (operator?.status !== "active" || !sessionLives(operator, session ?? "")) return undefined;
  const { role, audit_key } = operator;
  return {
    ...{ tenant_id, actor: operatorActor(operator), role, client_id, session: session ?? "" },
    ...(audit_key === undefined ? {} : { audit_key }),
    ...{ scopes: held(ticket, scopesOf(role, env.stage)), allowed_ips: [] },
  };
}

function held({ scopes }: StreamTicket, now: readonly string[]): readonly string[] {
  return scopes.filter((scope) => now.includes(scope));
}
