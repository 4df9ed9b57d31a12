import { hasNumber, text, whole } from "../emulator/raw-items.ts";
import type { RawChange, RawItem } from "../emulator/raw-table.ts";
import { isOfBatch } from "./merged-trades.ts";
import { asideOf, isPlatforms, platformMoney } from "./oracle-platform-money.ts";
import { isReturn, isTrading } from "./oracle-terms.ts";

const moves: Readonly<Record<string, readonly string[]>> = {
  TXN: [
    "pending>approved",
    "pending>processing",
    "pending>completed",
    "pending>rejected",
    "pending>cancelled",
    "pending>failed",
    "approved>processing",
    "approved>completed",
    "approved>cancelled",
    "approved>failed",
    "processing>completed",
    "processing>failed",
    "completed>returned",
  ],
  COMMAND: [
    ...["waiting>taken", "waiting>done", "waiting>cancelled", "waiting>expired"],
    ...["taken>done", "taken>failed", "taken>unknown", "taken>waiting"],
    ...["unknown>done", "unknown>failed", "unknown>waiting"],
  ],
  CLIENT: ["active>suspended", "active>closed", "suspended>active", "suspended>closed"],
  ACCOUNT: ["active>disabled", "disabled>active", "disabled>closed", "closed>disabled"],
  WEBHOOK: [
    "enabled>disabled",
    "enabled>auto_disabled",
    "disabled>enabled",
    "auto_disabled>enabled",
    "enabled>deleted",
    "disabled>deleted",
    "auto_disabled>deleted",
  ],
  DELIVERY: [
    "pending>retrying",
    "pending>succeeded",
    "pending>cancelled",
    "retrying>succeeded",
    "retrying>exhausted",
    "retrying>cancelled",
  ],
};

/** Whether a kind of item may make this move: `pending approved`. */
export function allowed(type: string, move: string): boolean {
  return moves[type]?.includes(move) ?? false;
}

/** Everything that can be said of the way the items went: each change by itself, from its two images. */
export function judgeChanges(changes: readonly RawChange[]): string[] {
  return [...judgeEach(changes), ...judgeOrder(changes)];
}

/** The entries of a kind, by account and number. */
function entriesOf(changes: readonly RawChange[], wanted: (entry: RawItem) => boolean): ReadonlySet<string> {
  const entries = changes.flatMap(({ after }) => (after?.["et"] === "LEDGER" && wanted(after) ? [after] : []));
  return new Set(entries.map((entry) => `${text(entry, "account_id")} ${whole(entry, "balance_version")}`));
}

function judgeEach(changes: readonly RawChange[]): string[] {
  const returns = entriesOf(changes, isReturn);
  const happened = platformMoney(changes.flatMap(({ after }) => (after === undefined ? [] : [after])));
  const traded = entriesOf(changes, (entry) => isTrading(entry) || happened.has(text(entry, "transaction_id")));
  const reported = new Set(
    changes.flatMap(({ after }) =>
      after !== undefined && asideOf(after).length > 0 ? [text(after, "account_id")] : [],
    ),
  );
  return changes.flatMap(({ kind, before, after }) => {
    const item = after ?? before ?? {};
    const type = text(item, "et");
    const place = `${text(item, "pk")} ${text(item, "sk")}`;
    const about = (sentence: string | false) => (sentence === false ? [] : [`${place}: ${sentence}`]);
    const appendOnly = ["LEDGER", "CONTRA", "EVENT"].includes(type) && kind !== "INSERT" && !clearedDue(before, after);
    const outbox = type === "OUTBOX" && kind === "MODIFY";
    if (before === undefined || after === undefined) {
      return [
        ...about(appendOnly && `was written again (${kind})`),
        ...about(
          kind === "INSERT" && hasNumber(item, "version") && firstVersionOff(item) && "does not begin at version 1",
        ),
        ...overdrawn(item, undefined, returns, traded, reported, about),
      ];
    }
    const move = `${String(before["status"])}>${String(after["status"])}`;
    const moved = before["status"] !== after["status"];
    return [
      ...about((appendOnly || outbox) && `was written again (${kind})`),
      ...about(moved && moves[type] !== undefined && !allowed(type, move) && `went ${move}`),
      ...about(moved && moves[type] !== undefined && !versionRose(before, after) && "moved without a new version"),
      ...about(versionFell(before, after) && "has a version that does not follow"),
      // Only what has a version promises this: parallel holds on one balance commit in any order of their clocks.
      ...about(hasNumber(after, "version") && text(after, "updated_at") < text(before, "updated_at") && "went back"),
      ...about(before["created_at"] !== after["created_at"] && type !== "IDEM" && "changed its birth"),
      ...overdrawn(after, before, returns, traded, reported, about),
    ];
  });
}

/** A published event is never changed, but for leaving the due index once all its deliveries are made. */
function clearedDue(before: RawItem | undefined, after: RawItem | undefined): boolean {
  if (after?.["et"] !== "EVENT" || before === undefined) return false;
  const { wake_at, due_pk, due_sk, ...rest } = before;
  return inNameOrder(rest) === inNameOrder(after);
}

/** A value as text, whatever the order of the members of its objects. */
function inNameOrder(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

/** A transaction may be born completed, or with its command: created and completed are two versions of one write. */
function firstVersionOff(item: RawItem): boolean {
  // A position whose close a platform took back goes on where it was.
  if (isOfBatch(item)) return whole(item, "version") < 1n;
  const first =
    text(item, "et") === "TXN" && /^(?:approved|completed|processing)$/.test(text(item, "status")) ? 2n : 1n;
  return whole(item, "version") !== first;
}

/** Only a trade or what is returned by force may leave a debt; after the latter the account allows closing alone. */
function overdrawn(
  item: RawItem,
  before: RawItem | undefined,
  returns: ReadonlySet<string>,
  traded: ReadonlySet<string>,
  reported: ReadonlySet<string>,
  about: (sentence: string | false) => string[],
): string[] {
  if (text(item, "et") !== "BALANCE") return [];
  const amounts = ["balance_minor", "held_minor", "available_minor"];
  const [total = 0n, held = 0n, available = 0n] = amounts.map((name) => whole(item, name));
  const [had = 0n, , free = 0n] = before === undefined ? [] : amounts.map((name) => whole(before, name));
  const posted = before === undefined || whole(before, "seq") !== whole(item, "seq");
  const entry = `${text(item, "account_id")} ${whole(item, "seq")}`;
  // Money that has left a platform is held whether the account has it or not.
  const aside = reported.has(text(item, "account_id"));
  const [returned, lost] = [posted && returns.has(entry), posted && traded.has(entry)];
  const more = before !== undefined && held > whole(before, "held_minor");
  return [
    ...about(available < 0n && available < free && !returned && !lost && !aside && `was overdrawn to ${available}`),
    ...about(available < 0n && more && !aside && "holds what it does not have"),
    ...about(total < 0n && had >= 0n && item["accepts"] === "all" && !lost && "has a debt and accepts all"),
    ...about(held < 0n && `held ${held}`),
    ...about(available !== total - held && "did not add up"),
  ];
}

/** Nothing new on an account after it was disabled, and no account of a client after it was suspended or closed. */
function judgeOrder(changes: readonly RawChange[]): string[] {
  const stopped = new Set<string>();
  return changes.flatMap(({ before, after }) => {
    if (after === undefined) return [];
    const [type, id] = [text(after, "et"), text(after, "id")];
    const asked = text(after, "kind") !== "negative_balance_correction" && !isPlatforms(after);
    const late = type === "TXN" && before === undefined && asked;
    if (late && stopped.has(text(after, "account_id"))) {
      return [`${id} was made after ${text(after, "account_id")} was disabled`];
    }
    if (type !== "ACCOUNT" && type !== "CLIENT") return [];
    const opened = type === "ACCOUNT" && before === undefined && stopped.has(text(after, "client_id"));
    if (after["status"] === "active") stopped.delete(id);
    else stopped.add(id);
    return opened ? [`${id} was opened after ${text(after, "client_id")} was suspended or closed`] : [];
  });
}

function versionRose(before: RawItem, after: RawItem): boolean {
  const rise = whole(after, "version") - whole(before, "version");
  return rise === 1n || (rise === 2n && tookNoteAlong(before, after)) || (rise > 1n && isOfBatch(after));
}

/** A change of an endpoint that was noted as switched off writes that too: two versions in one write. */
function tookNoteAlong(before: RawItem, after: RawItem): boolean {
  if (after["et"] !== "WEBHOOK" || before["status"] !== "enabled") return false;
  return after["status"] !== "enabled" || whole(after, "epoch") > whole(before, "epoch");
}

function versionFell(before: RawItem, after: RawItem): boolean {
  if (!hasNumber(before, "version")) return false;
  return whole(after, "version") !== whole(before, "version") && !versionRose(before, after);
}

/** One event as it was announced, waiting or published. */
export interface Announced {
  readonly type: string;
  readonly resource: { readonly id: string; readonly version: number };
  readonly data: { readonly object: Record<string, unknown> };
}
