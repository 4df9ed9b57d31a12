import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { approvalMutations } from "./approval-mutations.ts";
import { recordMutations } from "./record-mutations.ts";
import { settlementMutations } from "./settlement-mutations.ts";
import { streamMutations } from "./stream-mutations.ts";

/** A bug to plant: a place in the sources and what stands there instead. */
export interface Mutation {
  readonly name: string;
  /** Path from the root of the repository. */
  readonly file: string;
  /** Text that stands in the file exactly once, and its replacement. */
  readonly edits: readonly (readonly [from: string, to: string])[];
  /** A test that must fail: its file, and the beginning of its name. */
  readonly test: { readonly file: string; readonly name: string };
  /** Whether `npm test` plants it although its test takes the database. */
  readonly always?: true;
}

const deliver = "test/data/webhooks/deliver.test.ts";
const command = "test/domain/feed/command";
const credit = "test/domain/money/credit.test.ts";

/** Bugs that would lose, repeat, misdirect or mistime events or money, each with the test that finds it. */
export const mutations: readonly Mutation[] = [
  {
    name: "no lease",
    file: "shared/limits.ts",
    edits: [["lease_ms: 20_000,", "lease_ms: 0,"]],
    test: { file: deliver, name: "a message that comes while its attempt runs makes no second call" },
  },
  {
    name: "no attempt guard",
    file: "shared/domain/webhooks/attempt.ts",
    edits: [[' || delivery.attempt !== attempt) return "drop";', ' || attempt < 1) return "drop";']],
    test: { file: deliver, name: "a message of nothing, of another attempt, or of what is over" },
  },
  {
    name: "the publisher's own trace",
    file: "shared/events/fan-out.ts",
    edits: [["trace_id: traces.get(each.event_id)", "trace_id: traces.get(each.id)"]],
    test: { file: "test/data/webhooks/fan-out.test.ts", name: "keeps the trace of the commit with its event" },
  },
  {
    name: "no sweep",
    file: "functions/events/sweep-due.ts",
    edits: [["woken: wakeDeliveries(hasTime),", "woken: wakeDeliveries(() => false),"]],
    test: { file: "test/data/webhooks/unstored.test.ts", name: "before it stores it leaves nothing but a slot" },
  },
  {
    name: "wrong ladder",
    file: "shared/limits.ts",
    edits: [["[60, 300, 1800, 7200, 86_400]", "[60, 300, 1800, 7200, 43_200]"]],
    test: { file: "test/webhooks/ladder.test.ts", name: "the ladder tries at 0, 60, 360, 2160, 9360 and 95760" },
  },
  {
    name: "event outside the transaction",
    always: true,
    file: "shared/table/commit/execute.ts",
    edits: [
      [
        '    await sendTransaction(items);\n    return { kind: "fresh"',
        `    const told = items.filter(({ Put: put }) => put?.Item?.["et"] === "OUTBOX");
    await sendTransaction(items.filter((item) => !told.includes(item)));
    for (const { Put: put } of told) await table.send(new PutCommand(put));
    return { kind: "fresh"`,
      ],
    ],
    test: { file: "test/data/webhooks/events.test.ts", name: "what happened is published though the function dies" },
  },
  {
    name: "refusals counted twice",
    file: "shared/events/refusals.ts",
    edits: [
      ["import { putNew, ", "import { putMember, putNew, "],
      ["putNew(recordedRefusals,", "putMember(recordedRefusals,"],
    ],
    test: { file: "test/data/audit/refusals.test.ts", name: "are counted once each, in whatever order" },
  },
  {
    name: "redirects followed",
    file: "shared/webhooks/webhook-sender.ts",
    edits: [
      [
        "      const status = reply.statusCode ?? 0;\n",
        `      const status = reply.statusCode ?? 0;
      const { location } = reply.headers;
      if (status > 300 && status < 400 && location) {
        return this.exchange({ ...post, url: new URL(location, post.url).href }, startMs);
      }
`,
      ],
    ],
    test: { file: "test/webhooks/webhook-sender.test.ts", name: "a status of 307 is a failure and is not followed" },
  },
  {
    name: "tenant prefix missing",
    always: true,
    file: "shared/table/entities/webhooks.ts",
    edits: [["partition: (tenant: string) => `${tenant}|WHE`,", "partition: (_: string) => 'WHE',"]],
    test: { file: "test/data/webhooks/fan-out.test.ts", name: "publishing reaches no endpoint of another tenant" },
  },
  {
    name: "sequence taken by ADD",
    always: true,
    file: "shared/events/publish.ts",
    edits: [
      ["import { partKeys,", 'import { changeAndRead } from "../table/items.ts";\nimport { partKeys,'],
      ["import {\n  auditPages,", "import {\n  sequences,\n  auditPages,"],
      [
        "    const counter = await reads.counter();\n",
        `    const count = waiting.flatMap(({ events: texts }) => texts).length;
    const taken = await changeAndRead<{ readonly last: number }>(sequences.key(reads.tenant), {
      set: { et: sequences.et },
      add: { last: count },
    });
    const { audit } = await reads.counter();
    const counter = { last: Number(taken.item?.last) - count, audit, skipped: {}, is_stored: true };
`,
      ],
      ["advanceCounter(tenant, counter, to),", "changeMember(sequences.key(tenant), { set: { et: sequences.et } }),"],
      ["import { deleteMember,", "import { changeMember, deleteMember,"],
    ],
    test: { file: "test/data/webhooks/events.test.ts", name: "a batch that comes to five publishers at once" },
  },
  {
    name: "an unsigned withdrawal booked as positive",
    file: "shared/domain/feed/platform-money.ts",
    edits: [['kind === "withdrawal" || kind === "credit_out" || negative;', 'kind === "credit_out" || negative;']],
    test: { file: "test/domain/platform-money.test.ts", name: "of kind withdrawal and amount 100.00 has its sign" },
  },
  {
    name: "a close escaping the swap of the night",
    file: "shared/domain/trading/nights/accrue.ts",
    edits: [["=> underNights(state.account, market, rollovers, position, now));", "=> position);"]],
    test: { file: "test/domain/trading/nights.test.ts", name: "is charged by a close a second after it" },
  },
  {
    name: "a run deferring an item of a feed",
    file: "shared/domain/trading/open-trade.ts",
    edits: [["if (gated && isLiquidating(state.risk))", "if (isLiquidating(state.risk))"]],
    test: { file: "test/domain/feed.test.ts", name: "is booked while this service liquidates the account" },
  },
  {
    name: "credit spent while a position is open",
    file: "shared/domain/trading/correction.ts",
    edits: [["if (settled || (positions.length > 0 && !platform)) return book;", "if (settled) return book;"]],
    test: { file: credit, name: "pays what trading lost when the last position closes, and nothing while one is open" },
  },
  {
    name: "a late credit repays no correction",
    file: "shared/domain/money/posting.ts",
    edits: [["if (since === undefined) return", "if (since !== null) return"]],
    test: { file: credit, name: "that was spent because of a payout is there again once the payout fails" },
  },
  {
    name: "credit restored to the lot that paid",
    file: "shared/domain/accounts/debt.ts",
    edits: [
      [
        "return amount_minor < 0n ? consumed(lots, -amount_minor, entry.created_at) : withChanges(",
        "return withChanges(",
      ],
    ],
    test: { file: credit, name: "comes back as if the payout had not been" },
  },
  {
    name: "a withdrawal that removed nothing is not replayed",
    file: "shared/domain/money/posting.ts",
    edits: [["standing.debt_minor || policy !== undefined;", "standing.debt_minor || repaid.entries.length > 0;"]],
    test: { file: credit, name: "that withdrawals removed is there again once all of them have failed" },
  },
  {
    name: "a prorated part rounded down",
    file: "shared/domain/accounts/credit-lots.ts",
    edits: [["(credit * amount + balance - 1n) / balance", "(credit * amount) / balance"]],
    test: { file: credit, name: "under prorate, a thousand withdrawals of a unit" },
  },
  {
    name: "credit that ends twice",
    file: "shared/domain/money/credit.ts",
    edits: [["before.credit?.expired_at !== null", "before.credit === undefined"]],
    test: { file: credit, name: "ends at its time, once, as far as it is left" },
  },
  {
    name: "a second operation swallowed by the join",
    file: "shared/domain/money/legs.ts",
    edits: [["filter(({ confirmed }) => confirmed !== false);", "filter(() => false);"]],
    test: {
      file: `${command}/money-by-command.test.ts`,
      name: "a second operation of one command is booked in addition",
    },
  },
  {
    name: "a give-back booked by its command and by its operation",
    file: "shared/domain/feed/join-operation.ts",
    edits: [["  return own ? legs.find(", '  return own && command.leg === "forward" ? legs.find(']],
    test: {
      file: `${command}/money-by-command.test.ts`,
      name: "gives a payout that failed back only when the opposite",
    },
  },
  {
    name: "a waiting command that survives a hand settlement",
    file: "shared/domain/feed/command/move.ts",
    edits: [
      [
        'return ended(command, "cancel", byHand(before, leg, operation_id, accountContext, context), context);',
        "return byHand(before, leg, operation_id, accountContext, context);",
      ],
    ],
    test: { file: `${command}/money-by-command.test.ts`, name: "or by entering the operation here before the bridge" },
  },
  {
    name: "failed of a stale attempt accepted",
    file: "shared/domain/feed/command/command.ts",
    edits: [['if (status !== "done" && attempt !== command.attempt)', "if (attempt > command.attempt)"]],
    test: { file: `${command}/command.test.ts`, name: "that is taken and acknowledged as failed for attempt 1" },
  },
  {
    name: "a debit given back while its credit is unknown",
    file: "shared/domain/money/transfers/state.ts",
    edits: [
      ['  if (into.status !== "failed") return undefined;', '  if (into.status === "returned") return undefined;'],
    ],
    test: { file: `${command}/transfers.test.ts`, name: "is not given back while its credit is unknown" },
  },
  {
    name: "a transfer's credit rounded half up",
    file: "shared/domain/money/transfers/rate.ts",
    edits: [
      [
        'const credit_minor = roundToward(marked, minorDigits[to.currency], "down");',
        "const credit_minor = roundHalfAway(marked, minorDigits[to.currency]);",
      ],
    ],
    test: {
      file: "test/domain/money/transfer.test.ts",
      name: "makes of 1.99 USC in USD, rounded toward zero",
    },
  },
  {
    name: "a transfer at a direct pair that is better than the way over USD",
    file: "shared/domain/trading/pricing/client-rate.ts",
    edits: [["(other.rate.lt(least.rate) ? other : least)", "(other.rate.equals(least.rate) ? least : other)"]],
    test: {
      file: "test/domain/money/transfer-cycles.test.ts",
      name: "make nothing of 100,000.00 EUR that go over USD and GBP ten times, and did at the mid",
    },
  },
  {
    name: "an account decided on that was read at two moments",
    file: "shared/domain/trading/stored-risk.ts",
    edits: [["    sum === balance.positions_sum &&\n", ""]],
    test: {
      file: "test/domain/trading/programs/margin-moments.test.ts",
      name: "is never shown or committed otherwise than it was at one moment",
    },
  },
  {
    name: "money that is put aside counted in a margin call",
    file: "shared/domain/trading/margin.ts",
    edits: [
      [
        "return isAbove(equity, used, levels.margin_call_level)",
        "return isAbove(equity + aside, used, levels.margin_call_level)",
      ],
    ],
    test: {
      file: "test/domain/trading/account-money.test.ts",
      name: "counts money that is put aside against a stop-out alone",
    },
  },
  {
    name: "money joined with the credit that it names",
    file: "shared/domain/feed/join-operation.ts",
    edits: [
      [
        "if (isCredit({ kind }) !== isCredit(transaction)) return undefined;",
        "if (kind.length === 0) return undefined;",
      ],
    ],
    test: { file: `${command}/credit-by-command.test.ts`, name: "is not joined with money of the same amount" },
  },
  {
    name: "a platform's stop-out announced with each of its deals",
    file: "shared/domain/feed/platform-stop-out.ts",
    edits: [["const isOver = holdings.positions.length === 0;", "const isOver = holdings.positions.length >= 0;"]],
    test: { file: "test/domain/trading/platform-stop-out.test.ts", name: "is one stop.out for all positions" },
  },
  {
    name: "a command handed out again when its lease runs out",
    file: "shared/domain/feed/command/command.ts",
    edits: [
      [
        'return type === "find_operation" ? "not_sent" : "unknown";',
        'return type.length > 0 ? "not_sent" : "unknown";',
      ],
    ],
    test: { file: `${command}/command.test.ts`, name: "becomes unknown when its lease runs out" },
  },
  {
    name: "a snapshot compared with an account that moved",
    file: "shared/domain/feed/drift/compare.ts",
    edits: [["return BigInt(feed_seq) > BigInt(as_of_seq);", "return false;"]],
    test: { file: "test/domain/feed/drift/compare.test.ts", name: "is equal with the platform's of that moment" },
  },
  {
    name: "a join that keeps no number",
    file: "shared/domain/feed/join-operation.ts",
    edits: [["late, ...figure, ...numberOf(context) }", "late, ...figure }"]],
    test: {
      file: "test/domain/feed/drift/numbers.test.ts",
      name: "on an operation that is booked, and on one that is joined",
    },
  },
  {
    name: "an old snapshot resolving a newer drift",
    file: "shared/domain/feed/drift/reconcile.ts",
    edits: [["each !== undefined && isOlder(snapshot, each)", "each === undefined && isOlder(snapshot, snapshot)"]],
    test: {
      file: "test/domain/feed/drift/reconcile.test.ts",
      name: "stay as they are for a snapshot of an earlier number",
    },
  },
  ...recordMutations,
  ...approvalMutations,
  ...settlementMutations,
  ...streamMutations,
];

const root = new URL("../../../", import.meta.url);

/** Path of the file on this machine. */
export function fileOf({ file }: Mutation): string {
  return fileURLToPath(new URL(file, root));
}

/**
 * The source with the bug in it.
 * @throws Error unless each place is there exactly once
 */
export function planted({ file, edits, name }: Mutation, source: string): string {
  return edits.reduce((text, [from, to]) => {
    const parts = text.split(from);
    if (parts.length !== 2) throw new Error(`${name}: a place of it is ${parts.length - 1} times in ${file}.`);
    return parts.join(to);
  }, source);
}

/**
 * The bugs that `npm test` plants: all that a test without a database finds, and those that lose an event, number two
 * alike or show another brokerage's data. `npm run check:long` plants every one.
 */
export const shortForm = mutations.filter(({ test, always }) => always === true || !test.file.startsWith("test/data/"));

/** The source as it stands now. */
export function sourceOf(mutation: Mutation): string {
  return readFileSync(fileOf(mutation), "utf8");
}
