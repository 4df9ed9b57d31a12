import type { DomainEvent } from "../../kernel/decision.ts";
import type { PlatformCommand } from "../../records/command.ts";
import { isOpen } from "./command.ts";

interface Changing {
  readonly changes: readonly { readonly op: string; readonly entity?: string }[];
  readonly events: readonly DomainEvent[];
}

/**
 * The decision with the events of the commands that it issues and that it ends. They carry identifiers only: what a
 * command does to the platform is handed out by a take alone.
 */
export function announcing<D extends { readonly ok: boolean } | (Changing & { readonly ok: true })>(decision: D): D {
  if (!decision.ok) return decision;
  const { changes, events } = decision as D & Changing;
  const more = changes.flatMap((change) => eventsOf(change));
  return more.length === 0 ? decision : { ...decision, events: [...events, ...more] };
}

function eventsOf(change: Changing["changes"][number]): readonly DomainEvent[] {
  if (change.entity !== "command") return [];
  const { item, before, after } = change as {
    item?: PlatformCommand;
    before?: PlatformCommand;
    after?: PlatformCommand;
  };
  if (item !== undefined) return [commandEvent("command.issued", item)];
  if (before === undefined || after === undefined || !isOpen(before) || isOpen(after)) return [];
  return [commandEvent("command.settled", after, { status: before.status })];
}

function commandEvent(
  type: "command.issued" | "command.settled",
  { id, version, client_id, account_id, source_id, transaction_id, drift_id }: PlatformCommand,
  previous?: DomainEvent["previous"],
): DomainEvent {
  const object = {
    ...{ id, object: "command", source_id, account_id, transaction_id, drift_id, version },
    _links: { self: { href: `/v2/feed/sources/${source_id}/commands/${id}` } },
  };
  return {
    type,
    resource: { type: "command", id, version },
    client_id,
    account_id,
    object,
    ...(previous === undefined ? {} : { previous }),
  };
}
