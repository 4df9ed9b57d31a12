import { nextPositions, type OpenedStep, openNext } from "../domain/feed/drift/open-positions.ts";
import type { Drift, DriftPositions } from "../domain/records/drift.ts";
import type { FeedSource } from "../domain/records/feed-source.ts";
import { limits } from "../limits.ts";
import { log } from "../runtime/log.ts";
import { loadItems, ref } from "../table/store.ts";
import { type Attempted, type Committed, commitTrading } from "../trading/commit.ts";
import { driftRef } from "./drift-refs.ts";
import { positionRef } from "./marks.ts";

/** The positions of a platform's account that a drift has been adopted with. */
export async function adoptedPositions({ tenant_id, id, platform_account, positions_digest }: Drift) {
  if (positions_digest === undefined) return platform_account?.positions ?? [];
  const { kept } = await loadItems(tenant_id, { kept: driftRef.positions(id) });
  if (kept === undefined) throw new Error(`The positions of the drift ${id} are not there.`);
  return kept.positions;
}

/**
 * Opens the positions that are left of an account that is being adopted, so many a commit; several at the same time do
 * each step once. False when there was no time for all.
 */
export async function openLeft(
  run: Attempted & { readonly source: FeedSource },
  drift: Drift,
  positions: DriftPositions["positions"],
): Promise<boolean> {
  const { account_id } = drift;
  if (account_id === null) return true;
  for (;;) {
    const { account } = await loadItems(run.tenant_id, { account: ref.account(account_id) });
    if (account?.opening?.drift_id !== drift.id) return true;
    if (run.remainingMs() <= limits.commit.reserve_ms) return false;
    const step = await openStepOf(run, drift, account_id, { positions, taken: account.opening.taken });
    if (step.kind !== "done") return false;
    const { left_out, again } = step.result;
    if (left_out.length > 0)
      log.warn("Positions of an adopted account were left out.", { drift_id: drift.id, left_out });
    if (!again) return true;
  }
}

function openStepOf(
  run: Attempted & { readonly source: FeedSource },
  drift: Drift,
  account_id: string,
  { positions, taken }: { readonly positions: DriftPositions["positions"]; readonly taken: number },
): Promise<Committed<OpenedStep>> {
  const { source } = run;
  const next = nextPositions(positions, taken);
  return commitTrading(run, {
    account_id,
    opening: true,
    refs: Object.fromEntries(next.map(({ position_id }, place) => [String(place), positionRef(source, position_id)])),
    needs: () => ({ symbols: [...new Set(next.map(({ symbol }) => symbol))], source: source.name }),
    decide: (state, market, found, context) => {
      const names = next.flatMap(({ position_id }, place) => (found[String(place)] === undefined ? [] : [position_id]));
      return openNext({ state, market, source }, { positions, taken, owned: new Set(names) }, drift, context);
    },
  });
}
