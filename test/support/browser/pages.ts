import type { Scene } from "./scene.ts";

/** A page of the dashboard to look at: its file name, the row of the router that shows it, and its address. */
export interface ShownPage {
  readonly name: string;
  readonly row: string;
  readonly address: string;
}

/** Every page, with the items of a scene; items that open next to a list are pages of their own. */
export function shownPages(scene: Scene): ShownPage[] {
  const { client_id, pending_id, account_id, transaction_id, waiting_id, feed_id, endpoint_id, delivery_id } = scene;
  const today = new Date().toISOString().slice(0, 10);
  const rows: readonly (readonly [name: string, row: string, address?: string])[] = [
    ["home", "/"],
    ["approvals", "/approvals"],
    ["approval", "/approvals", `/approvals?open=${waiting_id}`],
    ["compliance", "/compliance", `/compliance?open=${pending_id}`],
    ["compliance-renewals", "/compliance", "/compliance?kind=renewal"],
    ["margin-watch", "/margin-watch"],
    ["clients", "/clients"],
    ["clients-none", "/clients", "/clients?status=closed&country=IS"],
    ["client", "/clients/$id", `/clients/${client_id}`],
    ["accounts", "/accounts"],
    ["account", "/accounts/$id", `/accounts/${account_id}`],
    ["account-ledger", "/accounts/$id", `/accounts/${account_id}?tab=ledger`],
    ["statement", "/accounts/$id/statement", `/accounts/${account_id}/statement?to=${today}`],
    ["reports", "/reports"],
    ["income", "/reports", "/reports?report=income"],
    ["transactions", "/transactions"],
    ["transaction", "/transactions", `/transactions?open=${transaction_id}`],
    ["symbols", "/symbols"],
    ["symbol", "/symbols", "/symbols?open=EURUSD"],
    ["exposure", "/exposure", "/exposure?account_type=demo"],
    ["feeds", "/feeds"],
    ["feed", "/feeds/$id", `/feeds/${feed_id}`],
    ["feed-rejects", "/feeds/$id", `/feeds/${feed_id}?tab=rejects`],
    ["feed-drift", "/feeds/$id", `/feeds/${feed_id}?tab=drift`],
    ["webhooks", "/webhooks"],
    ["webhook", "/webhooks/$id", `/webhooks/${endpoint_id}?open=${delivery_id}`],
    ["delivery", "/deliveries/$id", `/deliveries/${delivery_id}`],
    ["events", "/events"],
    ["event", "/events", `/events?open=${scene.event_id}`],
    ["audit", "/audit"],
    ["audit-entry", "/audit", `/audit?open=${scene.audit_id}`],
    ["usage", "/usage"],
    ["exports", "/exports"],
    ["operators", "/operators"],
    ["operator", "/operators", `/operators?open=${scene.operator_id}`],
    ["settings", "/settings"],
    ["applications", "/settings/api"],
    ["application", "/settings/api/$id", `/settings/api/${scene.application_id}`],
    ["sandbox", "/sandbox"],
    ["unknown-client", "/clients/$id", "/clients/cli_01JD0000000000000000000002"],
  ];
  return rows.map(([name, row, address = row]) => ({ name, row, address }));
}
