import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { groupOf, type PolicyRefusal } from "../../../shared/domain/audit/refusals.ts";
import { limits } from "../../../shared/limits.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller, type TestCaller, withScopes } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { auditsIn } from "../../support/oracles/audit-oracle.ts";
import { findings } from "../../support/oracles/oracle.ts";

const api = await startApi("stream", "watched");
afterAll(api.stop);

const { publishing } = await import("../../support/emulator/publishing.ts");
const { recordAll, someRefusal } = await import("../../support/emulator/refusals.ts");
const { handler: sweep } = await import("../../../functions/events/sweep-due.ts");
const work = publishing(api);

const numRuns = Number(process.env["REFUSALS_RUNS"] ?? "4");
const given = process.env["REFUSALS_SEED"];
const seed = given === "random" ? Date.now() % 1e9 : Number(given ?? "1");

const { refusals_per_batch, refusals_per_minute } = limits.audit;
/** The calls of a whole invocation; after the last of them nothing dies. */
const diesAfter = fc.nat(30);

const act = fc.oneof(
  { weight: 3, arbitrary: fc.record({ act: fc.constant("command" as const), tenant: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("refuse" as const), tenant: fc.nat(1) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constant("flood" as const),
      ...{ tenant: fc.nat(1), action: fc.constantFrom("create_client", "get_me"), minute: fc.nat(1) },
      count: fc.integer({ min: 1, max: 50 }),
    }),
  },
  // A batch of messages in any order, some of them again, for a recorder that dies after so many calls.
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant("record" as const),
      ...{ from: fc.nat(1000), again: fc.nat(20), dies_after: fc.nat(8), answer_is_lost: fc.boolean() },
    }),
  },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("publish" as const), dies_after: diesAfter }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("sweep" as const), dies_after: diesAfter }) },
);

type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

/** Commands and refusals of two brokerages on their way into the audit, with everything that may go wrong on it. */
class Program {
  readonly callers: readonly TestCaller[] = [newCaller(), newCaller()];
  readonly commands = [0, 0];
  readonly refused: PolicyRefusal[] = [];
  sweeps = 0;
  private waiting: PolicyRefusal[] = [];

  async do(one: Act): Promise<void> {
    if (one.act === "record") await this.record(one);
    else if (one.act === "publish") await this.publish(one.dies_after);
    else if (one.act === "sweep") await this.sweep(one.dies_after);
    else await this.request(one, this.callers[one.tenant] as TestCaller);
  }

  private async request(one: Extract<Act, { tenant: number }>, caller: TestCaller): Promise<void> {
    if (one.act === "command") {
      await brokerage(api, caller).client();
      this.commands[one.tenant] = (this.commands[one.tenant] ?? 0) + 1;
      return;
    }
    if (one.act === "refuse") await api.call(withScopes(caller, "events:read"), "GET", "/clients");
    const sent = api.queues.takeFrom("refusals").map(({ body }) => body as unknown as PolicyRefusal);
    if (one.act === "flood") {
      const at = new Date(Date.parse("2020-01-06T12:00:00.000Z") + one.minute * 60_000).toISOString();
      const { action } = one;
      sent.push(...Array.from({ length: one.count }, () => someRefusal(caller, { at, action })));
    }
    this.refused.push(...sent);
    this.waiting.push(...sent);
  }

  private async record({ from, again, dies_after, answer_is_lost }: Extract<Act, { act: "record" }>): Promise<void> {
    const start = from % (this.waiting.length + 1);
    const turned = [...this.waiting.slice(start), ...this.waiting.slice(0, start)];
    const batch = [...turned.slice(0, refusals_per_batch - again), ...this.refused.slice(from % 7, again)];
    const left = new Set(await dying(dies_after, answer_is_lost, () => recordAll(batch)));
    const taken = new Set(batch);
    // A message that is not deleted comes again; so does one whose deletion was lost, which `again` stands for.
    this.waiting = this.waiting.filter((refusal) => !taken.has(refusal) || left.has(refusal));
  }

  private async sweep(diesAfterCalls: number): Promise<void> {
    this.sweeps += 1;
    await dying(diesAfterCalls, true, () => sweep({ action: "sweep" }, lambdaContext(60_000))).catch(() => undefined);
  }

  async publish(diesAfterCalls = Number.POSITIVE_INFINITY): Promise<void> {
    const sent = api.queues.takeFrom("publish.fifo");
    await dying(diesAfterCalls, false, () => work.receive(sent));
  }

  /** Everything comes to its end: each message once more, and all that waits is published. */
  async end(): Promise<void> {
    for (let at = 0; at < this.refused.length; at += refusals_per_batch) {
      expect(await recordAll(this.refused.slice(at, at + refusals_per_batch))).toEqual([]);
    }
    await sweep({ action: "release_parked" }, lambdaContext(60_000));
    for (let turn = 0; turn < 3; turn += 1) {
      await sweep({ action: "sweep" }, lambdaContext(60_000));
      await this.publish();
    }
  }
}

/** Does work whose calls of the table fail after so many; the first of those may be done and its answer lost. */
async function dying<T>(diesAfterCalls: number, lost: boolean, run: () => Promise<T>): Promise<T> {
  let calls = 0;
  api.watched.interfere = () => {
    calls += 1;
    if (calls <= diesAfterCalls) return undefined;
    return lost && calls === diesAfterCalls + 1 ? "lose_answer" : failure("ResourceNotFoundException");
  };
  try {
    return await run();
  } finally {
    api.watched.interfere = () => undefined;
  }
}

async function judge(program: Program): Promise<void> {
  const items = await scanTable(api.emulator);
  const entries = auditsIn(items);
  for (const [at, { tenant_id }] of program.callers.entries()) {
    const own = entries.filter(({ tenant }) => tenant === tenant_id).map(({ members }) => members);
    expect(own.filter(({ outcome }) => outcome === "succeeded")).toHaveLength(program.commands[at] ?? 0);
    const refused = program.refused.filter((refusal) => refusal.tenant_id === tenant_id);
    const nameOf = (group: object) => JSON.stringify(Object.values(group));
    for (const name of new Set(refused.map((refusal) => nameOf(groupOf(refusal))))) {
      const group = refused.filter((refusal) => nameOf(groupOf(refusal)) === name);
      const ids = new Set(group.map(({ request_id }) => request_id));
      const counts = own.flatMap(({ request_id, count }) => (ids.has(String(request_id)) ? [Number(count)] : []));
      const singles = Math.min(group.length, refusals_per_minute);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(group.length);
      // A sweep in between counts what was there by then, and the next one what came later.
      const parts = counts.length - singles;
      expect(parts).toBeLessThanOrEqual(program.sweeps + 1);
      expect(parts > 0).toBe(group.length > singles);
    }
  }
  const tenants = program.callers.map(({ tenant_id }) => tenant_id);
  const left = items.filter(({ pk }) => tenants.some((id) => String(pk).startsWith(id)));
  expect(left.filter(({ et }) => et === "OUTBOX" || et === "PARKED")).toEqual([]);
  expect(await findings(api.emulator)).toEqual([]);
}

it("leaves one entry of each command and each refusal, whatever dies, repeats or comes in another order", async () => {
  // Commits and counted refusals are due for the sweep at once.
  process.env["TIME_SCALE"] = "1000000";
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 12, maxLength: 32 }), async (acts) => {
      const program = new Program();
      for (const one of acts) await program.do(one);
      await program.end();
      await judge(program);
    }),
    { numRuns, seed },
  );
  delete process.env["TIME_SCALE"];
}, 180_000);
