import { useList } from "../../api/data.ts";

/** Work with identities: to decide about those that were submitted, or to renew verifications that end. */
export type IdentityQueue = "decision" | "renewal";

/** The clients that wait for a decision, longest waiting first, or whose verification ends, earliest first. */
export function useIdentities(kind: IdentityQueue) {
  return useList("/clients/queue", { query: { kind, limit: 100 } });
}
