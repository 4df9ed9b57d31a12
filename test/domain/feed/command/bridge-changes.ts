import { isOpen } from "../../../../shared/domain/feed/command/command.ts";
import { markOf } from "../../../../shared/domain/feed/records.ts";
import type { OperationLinks } from "../../../../shared/domain/feed/reported.ts";
import type { SetAside } from "../../../../shared/domain/feed/set-aside.ts";
import type { DomainEvent } from "../../../../shared/domain/kernel/decision.ts";
import type { Change } from "../../../../shared/domain/records/change.ts";
import type { MoneyCommand } from "../../../../shared/domain/records/command.ts";
import type { Dedup } from "../../../../shared/domain/records/feed-item.ts";
import type { FeedSource } from "../../../../shared/domain/records/feed-source.ts";

/** An operation in the ledger of the simulated platform. */
export interface PlatformOperation {
  readonly operation_id: string;
  readonly minor: bigint;
  readonly reference: string | null;
  /** It moved credit and not the balance. */
  readonly credits?: true;
  /** The account here that it belongs to. */
  readonly account_id: string;
  /** Number of its item: they are numbered as the platform carries them out, at this time. */
  readonly seq: number;
  readonly at: string;
}

/** Each command that is issued or ends in a commit is announced in it, once. */
export function checkAnnounced(changes: readonly Change[], events: readonly DomainEvent[]): void {
  const expected = changes.flatMap((change): string[] => {
    if (change.op === "create" && change.entity === "command")
      return [`command.issued ${(change.item as MoneyCommand).id}`];
    if (change.op !== "update" || change.entity !== "command") return [];
    const [before, after] = [change.before as MoneyCommand, change.after as unknown as MoneyCommand];
    return isOpen(before) && !isOpen(after) ? [`command.settled ${after.id}`] : [];
  });
  const told = events.flatMap(({ type, resource }) => (type.startsWith("command.") ? [`${type} ${resource.id}`] : []));
  const [sorted, wanted] = [told.toSorted().join(), expected.toSorted().join()];
  if (sorted !== wanted) throw new Error(`It announces [${sorted}] where it does [${wanted}].`);
}

/** The name of a claim. */
export function claimOf({ kind, value }: { readonly kind: string; readonly value: string }): string {
  return `${kind} ${value}`;
}

/** Key of a change, where it can be written once in a commit. */
export function keyOf(change: Change): string | undefined {
  if (change.op === "claim" || change.op === "release") return claimOf(change);
  if (change.op === "update") return `${change.entity} ${(change.after as { readonly id: string }).id}`;
  return change.op === "adjust" ? `${change.entity} ${change.id}` : undefined;
}

/** Decision of a person on an operation that was put aside. */
export type Said =
  | { readonly transaction_id: string }
  | { readonly command_id: string }
  | { readonly confirm_new: true }
  | { readonly take_back: true };

/** Decision of a person, as the domain takes it. */
export function spoken(said: Said | undefined): OperationLinks["said"] {
  if (said === undefined) return undefined;
  if ("take_back" in said) return "take_back";
  return "confirm_new" in said ? "is_new" : "is_named";
}

/** The transaction or the command that a person names. */
export function namedBy(said: Said | undefined): string | undefined {
  if (said === undefined || "confirm_new" in said || "take_back" in said) return undefined;
  return "command_id" in said ? said.command_id : said.transaction_id;
}

/** An amount of minor units as the wire has it. */
export function decimal(minor: bigint): string {
  const size = minor < 0n ? -minor : minor;
  return `${minor < 0n ? "-" : ""}${size / 100n}.${String(size % 100n).padStart(2, "0")}`;
}

/** The note of an operation that is set aside. */
export function noteOf(
  { account_id, minor, transaction_id, detail }: SetAside,
  source: FeedSource,
  name: string,
  seq: string,
  at: string,
): Dedup {
  const outcome = { status: "rejected", code: "approval_required", detail, candidates: [transaction_id] } as const;
  const money = { aside_account_id: account_id, aside_minor: minor };
  const named = { raw: { seq }, dedup: ["operation", name] as const, content: [] };
  return markOf({ source, tenant_id: source.tenant_id }, named, undefined, at, { ...outcome, ...money });
}
