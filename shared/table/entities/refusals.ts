import type { PolicyRefusal, RefusalGroup, RefusalTally } from "../../domain/audit/refusals.ts";
import { recordedRefusalType, refusalTallyType } from "../table-shape.ts";
import { dueKeys, type Entity, type IndexKeys, type Key } from "./keys.ts";

/** How many refusals of one actor, action and minute were recorded, in a partition of their own. */
export const refusalTallies = {
  et: refusalTallyType,
  key: (tenant: string, { actor_id, action, minute }: Omit<RefusalGroup, "tenant_id">): Key => ({
    pk: `${tenant}|RFS|${actor_id}|${action}|${minute}`,
    sk: "TALLY",
  }),
  keyOf: (item: RefusalGroup): Key => refusalTallies.key(item.tenant_id, item),
  indexesOf: (item: RefusalTally): IndexKeys =>
    item.wake_at === null ? {} : dueKeys("REFUSAL", refusalTallies.keyOf(item).pk, item.wake_at),
} satisfies Entity<RefusalTally> & Record<string, unknown>;

/** A refusal that was recorded, for as long as its message can come again. */
export interface RecordedRefusal extends Pick<PolicyRefusal, "tenant_id" | "request_id"> {
  readonly expires_at: number;
}

/** Refusals that were recorded, each in a partition of its own: of a flood there are thousands a second. */
export const recordedRefusals = {
  et: recordedRefusalType,
  keyOf: ({ tenant_id, request_id }: Omit<RecordedRefusal, "expires_at">): Key => ({
    pk: `${tenant_id}|RFS|${request_id}`,
    sk: "RECORDED",
  }),
  toStored: ({ expires_at }: RecordedRefusal) => ({ expires_at }),
} satisfies Entity<RecordedRefusal> & Record<string, unknown>;
