import { describe, expect, it } from "vitest";
import {
  type Comparison,
  compareAccount,
  type Difference,
  type OurSide,
} from "../../../../shared/domain/feed/drift/compare.ts";
import type { Reconciliation } from "../../../../shared/domain/feed/drift/drift.ts";
import { type Compared, reconcile } from "../../../../shared/domain/feed/drift/reconcile.ts";
import type { PlatformCommand } from "../../../../shared/domain/records/command.ts";
import type { Drift } from "../../../../shared/domain/records/drift.ts";
import type { Position } from "../../../../shared/domain/records/position.ts";
import { decisionContext } from "../../../support/builders/decisions.ts";

const context = decisionContext();
const snapshot = (as_of_seq: string, minute = 30) => ({
  ...{ source_id: "src_1", snapshot_id: `S-${as_of_seq}-${minute}`, as_of_seq },
  taken_at: `2026-11-21T06:${minute}:00.000Z`,
});
const balance = (theirs: string): Difference => ({
  ...{ kind: "balance", position_id: null, symbol: null, ours: "100.00", theirs, open_price: null },
});
const position = (position_id: string): Difference => ({
  ...{
    kind: "position_missing_here",
    position_id,
    symbol: "EURUSD",
    ours: null,
    theirs: "buy 1.00",
    open_price: "1.1",
  },
});

const netting = {
  ...{ account: { currency: "USD", position_mode: "netting" }, credit_minor: 0n, effects: [] },
} as const satisfies Partial<OurSide>;
const moment = (as_of_seq: string) => ({
  source: { id: "src_1", name: "mt5:live-1" },
  ...{ as_of_seq, unnumbered_since: "2026-11-21T06:25:00.000Z" },
});
const held = { symbol: "EURUSD", side: "buy", lots: "1.00", open_price: "1.1" } as const;
const platformPosition = { ...held, position_id: "P-1" };
const ourPosition = {
  ...{ ...held, id: "pos_1", source_position_id: "P-9", source: "mt5:live-1", updated_at: "2026-11-21T06:00:00.000Z" },
} as unknown as Position;

/** State of one login while snapshots of it are compared. */
class Login {
  reconciliation: Reconciliation | undefined;
  readonly drifts = new Map<string, Drift>();
  commands: readonly PlatformCommand[] = [];
  head: ReturnType<typeof snapshot> | undefined;

  compare(differences: readonly Difference[], at = snapshot("1"), left_out: readonly string[] = [], books = true) {
    const status = differences.length > 0 ? "drifting" : left_out.length > 0 ? "moved_on" : "equal";
    const uncompared = left_out.map((name) => `position ${name}`);
    return this.found({ status, differences, left_out, uncompared }, at, books);
  }

  found(comparison: Comparison, at: ReturnType<typeof snapshot>, books = true) {
    const account = { platform_login: "7", account_id: "acc_1", client_id: "cli_1", balance_seq: 1, pos_version: 1 };
    const compared: Compared = { ...account, comparison, books, explained_by: [] };
    const { reconciliation } = this;
    const remembered = { reconciliation, head: this.head, drifts: [...this.drifts.values()], commands: this.commands };
    const decision = reconcile(remembered, compared, at, context);
    if (!decision.ok) throw new Error("It was refused.");
    for (const change of decision.changes) {
      if (!("entity" in change) || (change.op !== "create" && change.op !== "update")) continue;
      const after = change.op === "create" ? change.item : change.after;
      if (change.entity === "drift") this.drifts.set((after as Drift).id, after as Drift);
      if (change.entity === "reconciliation") this.reconciliation = after as Reconciliation;
    }
    return { ...decision.result, written: decision.changes.length };
  }

  get states(): string[] {
    return [...this.drifts.values()].map(({ kind, theirs, resolution }) => `${kind} ${theirs} ${resolution?.action}`);
  }
}

describe("the drifts of a login", () => {
  it("are not remembered while there are none", () => {
    const login = new Login();
    expect(login.compare([])).toMatchObject({ status: "equal", written: 0 });
    expect(login.reconciliation).toBeUndefined();
  });

  it("are one for each subject, follow what differs, and end as agreed", () => {
    const login = new Login();
    login.compare([balance("90.00")]);
    login.compare([balance("80.00"), position("P-1")], snapshot("2"));
    expect(login.states).toEqual(["balance 80.00 undefined", "position_missing_here buy 1.00 undefined"]);
    expect([...login.drifts.values()][0]).toMatchObject({ snapshot_id: "S-2-30", version: 2 });
    login.compare([position("P-1")], snapshot("3"));
    expect(login.states).toEqual(["balance 80.00 agreed", "position_missing_here buy 1.00 undefined"]);
    login.compare([balance("80.00")], snapshot("4"));
    expect(login.states).toHaveLength(3);
  });

  it.each([
    ["an earlier number", snapshot("1", 59)],
    ["an earlier time", snapshot("2", 29)],
  ])("stay as they are for a snapshot of %s", (_, older) => {
    const login = new Login();
    login.compare([balance("90.00")], snapshot("2"));
    expect(login.compare([], older)).toMatchObject({ status: "superseded", written: 0 });
    expect(login.compare([balance("70.00")], older)).toMatchObject({ status: "superseded", written: 0 });
  });

  it("are not found by a snapshot that was compared while a newer one came, which found nothing to remember", () => {
    const login = new Login();
    login.head = snapshot("2");
    expect(login.compare([], snapshot("2"))).toMatchObject({ status: "equal", written: 0 });
    expect(login.compare([balance("90.00")], snapshot("1"))).toMatchObject({ status: "superseded", written: 0 });
    expect(login.compare([balance("90.00")], snapshot("2"))).toMatchObject({ status: "drifting" });
  });

  it("stay open for what was not compared, and since when that is so is remembered", () => {
    const login = new Login();
    login.compare([position("P-1")]);
    expect(login.compare([], snapshot("2"), ["P-1"])).toMatchObject({
      status: "moved_on",
      moved_on_since: context.now,
    });
    login.compare([], snapshot("3"), [], false);
    expect(login.states).toEqual(["position_missing_here buy 1.00 undefined"]);
    expect(login.compare([], snapshot("4"))).toMatchObject({ status: "equal", moved_on_since: undefined });
    expect(login.states).toEqual(["position_missing_here buy 1.00 agreed"]);
  });

  it("stay open while the symbol of a netting account moves on, or a balance is more than there can be", () => {
    const theirs = { balance: "90.00", credit: "0.00", positions: [platformPosition] };
    const held = { ...netting, balance_minor: 10_000n, positions: [] };
    const login = new Login();
    login.found(compareAccount(held, theirs, moment("5")), snapshot("5"));
    const both = ["balance 90.00 undefined", "position_missing_here buy 1.00 undefined"];
    const tooMuch = "999999999999999999.00";
    expect(login.states).toEqual(both);
    const positions = [{ ...ourPosition, feed_seq: "9" }];
    login.found(compareAccount({ ...held, positions }, { ...theirs, balance: tooMuch }, moment("6")), snapshot("6"));
    expect(login.states).toEqual(both);
    // The platform has closed it since, and calls the next one of its symbol otherwise.
    const closed = { ...theirs, positions: [{ ...platformPosition, position_id: "P-2" }] };
    login.found(compareAccount({ ...held, positions }, closed, moment("7")), snapshot("7"));
    expect(login.states).toEqual(both);
    login.found(compareAccount({ ...held, balance_minor: 9_000n, positions }, theirs, moment("9")), snapshot("9"));
    expect(login.states).toEqual(["balance 90.00 agreed", "position_missing_here buy 1.00 agreed"]);
  });

  it("that were accepted are reported again only with another amount, whatever both sides are", () => {
    const login = new Login();
    login.compare([balance("90.00")]);
    const { reconciliation } = login;
    if (reconciliation === undefined) throw new Error("Nothing is remembered.");
    login.reconciliation = { ...reconciliation, open: {}, accepted: { balance: "-1000" } };
    const by_hand = { action: "accept", by: null, reason: null, transaction_id: null, trade_id: null } as const;
    for (const [id, drift] of login.drifts) login.drifts.set(id, { ...drift, status: "resolved", resolution: by_hand });
    expect(login.compare([balance("90.00")], snapshot("2")).status).toBe("equal");
    expect(login.compare([{ ...balance("190.00"), ours: "200.00" }], snapshot("3")).status).toBe("equal");
    expect(login.compare([balance("89.00")], snapshot("4")).status).toBe("drifting");
    expect(login.reconciliation).toMatchObject({ accepted: {} });
    expect(login.states).toEqual(["balance 90.00 accept", "balance 89.00 undefined"]);
  });
});
