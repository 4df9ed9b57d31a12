import type { Reconciliation } from "../domain/feed/drift/drift.ts";
import type { SnapshotHead } from "../domain/feed/drift/snapshot.ts";
import type { Drift, DriftPositions } from "../domain/records/drift.ts";
import { driftPositions, drifts, reconciliations, snapshotHeads } from "../table/entities.ts";
import type { Ref } from "../table/store.ts";

/** References to what is kept of drifts. */
export const driftRef = {
  drift: (id: string): Ref<Drift> => ({ keyIn: (tenant) => drifts.key(tenant, id) }),
  positions: (id: string): Ref<DriftPositions> => ({ keyIn: (tenant) => driftPositions.key(tenant, id) }),
  reconciliation: (sourceId: string, login: string): Ref<Reconciliation> => ({
    keyIn: (tenant) => reconciliations.key(tenant, sourceId, login),
  }),
  head: (sourceId: string): Ref<SnapshotHead> => ({ keyIn: (tenant) => snapshotHeads.key(tenant, sourceId) }),
};
