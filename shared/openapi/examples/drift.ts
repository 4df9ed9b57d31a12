import { account_id, completed_at, created_at, exampleIds, exampleNames, links, shownClient } from "./identifiers.ts";

const { feed: source_id, drift: id } = exampleIds;
const { snapshot_id } = exampleNames;
const source = `/feed/sources/${source_id}`;
const snapshot = `${source}/snapshots/${snapshot_id}`;
const counts = { compared: 250, equal: 247, moved_on: 2, drifting: 1 };

/** A difference of a balance. */
export const drift = {
  id,
  object: "drift",
  source_id,
  platform_login: "50012345",
  account_id,
  kind: "balance",
  position_id: null,
  symbol: null,
  ours: "1000.00",
  theirs: "1012.50",
  open_price: null,
  platform_account: null,
  snapshot_id,
  as_of_seq: "919",
  taken_at: created_at,
  explained_by: [{ type: "possible_duplicate", id: "917" }],
  status: "open",
  command_id: null,
  proposal: null,
  resolution: null,
  resolved_at: null,
  created_at: completed_at,
  updated_at: completed_at,
  version: 1,
  _links: links({ self: `/drift/${id}`, source, account: `/accounts/${account_id}` }),
};

/** Examples of the replies about snapshots and drifts, by component. */
export const driftReplies: Readonly<Record<string, unknown>> = {
  SnapshotPart: {
    object: "feed_snapshot_part",
    source_id,
    snapshot_id,
    part: 1,
    status: "compared",
    ...counts,
    left_out: [{ platform_login: "50012345", ids: ["P-41"] }],
    _links: links({ source, snapshot }),
  },
  FeedSnapshot: {
    object: "feed_snapshot",
    source_id,
    snapshot_id,
    taken_at: created_at,
    as_of_seq: "919",
    complete: true,
    parts: 1,
    received_parts: 1,
    superseded_parts: 0,
    ...counts,
    missing: 0,
    created_at,
    _links: links({ self: snapshot, source }),
  },
  Drift: { ...drift, client: shownClient },
};
