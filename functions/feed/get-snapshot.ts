import { snapshotBody } from "../../shared/domain/feed/drift/snapshot.ts";
import { readSnapshot } from "../../shared/feed/snapshots.ts";
import { read } from "../../shared/http/operations.ts";
import { getSnapshot } from "../../shared/routes/drift.ts";

/** `GET /feed/sources/{id}/snapshots/{snapshot_id}` */
export const handler = await read(getSnapshot, async ({ path, caller }) => {
  const { snapshot, parts, end } = await readSnapshot(caller.tenant_id, path.id, path.snapshot_id);
  return snapshot && snapshotBody(snapshot, parts, end);
});
