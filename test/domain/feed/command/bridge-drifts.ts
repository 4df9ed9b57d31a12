import { isCorrection, isOpen } from "../../../../shared/domain/feed/command/command.ts";
import type { Reconciliation } from "../../../../shared/domain/feed/drift/drift.ts";
import { type Compared, reconcile } from "../../../../shared/domain/feed/drift/reconcile.ts";
import { type DriftState, resolveDrift } from "../../../../shared/domain/feed/drift/resolve.ts";
import type { Change, Decision } from "../../../../shared/domain/records/change.ts";
import type { CorrectionCommand } from "../../../../shared/domain/records/command.ts";
import type { Drift } from "../../../../shared/domain/records/drift.ts";
import type { ResolveDrift } from "../../../../shared/schema/feed/drift.ts";
import { TwoBooks } from "./bridge-model.ts";
import { compareAt } from "./bridge-snapshots.ts";

const reason = { code: "checked" };

/** Two books that snapshots compare: what differs is a drift of the main account, and people resolve it. */
export class ComparedBooks extends TwoBooks {
  /** Amount that the platform has in addition to the ledger that its items report, in minor units. */
  missing = 0n;
  private reconciliation: Reconciliation | undefined;
  private snapshots = 0;

  /** A snapshot of the platform right after so many of its operations; by default after all of them. */
  snapshot(seq = this.ledger.length): string {
    this.snapshots += 1;
    const taken_at = this.ledger[seq]?.at ?? this.now;
    const ref = { source_id: this.source.id, snapshot_id: `S-${this.snapshots}`, as_of_seq: String(seq), taken_at };
    const { account, balance } = this.accountOf(this.main);
    const compared: Compared = {
      ...{ platform_login: "50012345", account_id: account.id, client_id: account.client_id },
      ...{ balance_seq: balance.seq, pos_version: balance.pos_version },
      comparison: compareAt(this, this.main, seq, this.missing),
      books: true,
      explained_by: this.causes(),
    };
    const remembered = {
      reconciliation: this.reconciliation,
      drifts: [...this.drifts.values()],
      commands: [...this.commands.values()],
    };
    const done = this.commit(reconcile(remembered, compared, ref, this.context()) as Decision<{ status: string }>);
    return done?.status ?? "refused";
  }

  /** The drift that is open. */
  get drift(): Drift | undefined {
    return [...this.drifts.values()].find(({ status }) => status === "open");
  }

  /** The newest command that corrects the platform. */
  get correction(): CorrectionCommand {
    const all = [...this.commands.values()].filter(isCorrection).filter(({ about_id }) => about_id === undefined);
    const newest = all.at(-1);
    if (newest === undefined) throw new Error("No command corrects the platform.");
    return newest;
  }

  /** Resolves the open drift as a caller of the API does; the code of its refusal, if it is refused. */
  resolve(action: ResolveDrift["action"], actor?: string): string | undefined {
    const { drift, reconciliation } = this;
    if (drift === undefined) return "none";
    const account = this.accountOf(this.main);
    const state: DriftState = {
      ...{ drift, reconciliation, source: this.source, tenant: account.tenant, explained_by: this.causes() },
      head: reconciliation && {
        ...reconciliation,
        snapshot_id: drift.snapshot_id,
        received_at: reconciliation.taken_at,
      },
      command: this.commands.get(drift.command_id ?? ""),
      books: { state: account } as unknown as DriftState["books"],
    };
    const decision = resolveDrift(state, { action, reason }, this.context(actor));
    if (!decision.ok) return decision.refusal.code;
    this.commit(decision as Decision<Drift>);
    return undefined;
  }

  private causes(): Drift["explained_by"] {
    const open = [...this.commands.values()].filter((each) => isOpen(each) && each.type === "balance_operation");
    return open.filter((each) => each.account_id === this.main).map(({ id }) => ({ type: "command", id }));
  }

  protected override apply(change: Change): void {
    const { entity, op, item, before, after = item } = change as unknown as Applied;
    if (entity === "drift") this.put(this.drifts, op === "update" ? (before as Drift) : undefined, after as Drift);
    else if (entity === "reconciliation") this.reconciliation = after as Reconciliation;
    else super.apply(change);
  }
}

/** A change, as far as it says which item it writes. */
interface Applied {
  readonly op: string;
  readonly entity?: string;
  readonly item?: unknown;
  readonly before?: unknown;
  readonly after?: unknown;
}
