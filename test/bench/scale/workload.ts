import { openClient } from "../../../shared/domain/accounts/client.ts";
import { openEndpoint } from "../../../shared/domain/webhooks/decisions.ts";
import { draftHealth } from "../../../shared/domain/webhooks/webhook.ts";
import { standardScopes } from "../../../shared/event-scopes.ts";
import { delayMs, nowIso } from "../../../shared/runtime/clock.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { drawPersonKey } from "../../../shared/runtime/person-key.ts";
import { systemContext } from "../../../shared/table/context.ts";
import { webhookHealths, webhooks } from "../../../shared/table/entities.ts";
import { putItem } from "../../../shared/table/items.ts";
import { putOutbox } from "../../../shared/table/outbox.ts";
import { transact } from "../../../shared/table/transact.ts";
import { writeOf } from "../../../shared/table/write.ts";
import { drawWebhookSecret } from "../../../shared/webhooks/secrets.ts";

interface CommitRequest {
  readonly tenant: string;
  readonly number: number;
  readonly events?: number;
  /** Whether the audit gets an entry of it, as of each commit that a caller asked for. */
  readonly audited?: boolean;
}

/** Makes a client, as `POST /clients` commits it: one transaction with an outbox item, which has its event so often. */
export async function commit({ tenant, number, events = 1, audited = true }: CommitRequest): Promise<void> {
  const origin = { action: "create_client", ip: "203.0.113.7", user_agent: "axios/1.7.2" };
  const plain = { ...systemContext(tenant, "scale"), request_id: newId("req") };
  const context = audited ? { ...plain, origin } : plain;
  const request = { email: `client-${number}@example.com`, first_name: "Ana", last_name: "Silva" };
  const decision = openClient(request, drawPersonKey(), context);
  const [first, ...more] = decision.ok ? decision.events : [];
  if (!decision.ok || first === undefined) throw new Error("The client was refused.");
  const changes = decision.changes.map((change) => writeOf(change, tenant));
  await transact([
    ...changes,
    ...putOutbox([first, ...more, ...Array.from({ length: events - 1 }, () => first)], context, delayMs),
  ]);
}

/** Makes endpoints of a tenant that subscribe to everything and are proven, or without a success so far. */
export async function endpoints({ tenant, count }: { readonly tenant: string; readonly count: number }): Promise<void> {
  for (let made = 0; made < count; made += 1) {
    const context = { ...systemContext(tenant, "scale"), scopes: standardScopes };
    const id = newId("whe");
    const drawn = { id, ...(await drawWebhookSecret({ tenant_id: tenant, id })) };
    const request = { url: `https://receiver-${made}.example.com/`, event_types: ["*" as const] };
    const decision = openEndpoint(request, undefined, drawn, { local: false, unknownAccounts: [] }, context);
    if (!decision.ok) throw new Error("The endpoint was refused.");
    const { endpoint } = decision.result;
    await putItem(webhooks, endpoint);
    const at = nowIso();
    await putItem(webhookHealths, { ...draftHealth(endpoint), last_success_at: at, proven_at: at });
  }
}
