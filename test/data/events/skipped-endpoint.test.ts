import { randomInt } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lambdaContext } from "../../support/emulator/request.ts";
import {
  type Brokerage,
  damages,
  expectAllOnce,
  newBrokerage,
  put,
  settle,
  stored,
  sweepEvents,
} from "./unreadable-cases.ts";

const runs = Number(process.env["SKIP_RUNS"] ?? "2");
const given = process.env["SKIP_SEED"] ?? "20261128";
const seed = given === "random" ? randomInt(2 ** 30) : Number(given);

/** Acts of one turn, all at the same time. */
const turn = fc.record({
  deposits: fc.integer({ min: 0, max: 3 }),
  /** The endpoint from one moment to the next: readable or not. */
  states: fc.array(fc.boolean(), { maxLength: 4 }),
  sweeps: fc.integer({ min: 0, max: 2 }),
});

interface Turn {
  readonly deposits: number;
  readonly states: readonly boolean[];
  readonly sweeps: number;
}

async function play(own: Brokerage, turns: readonly Turn[]): Promise<void> {
  const ulid = own.endpoint.id.replace("whe_", "");
  const whole = await stored(`${own.tenant}|WHE`, ulid);
  const damage = damages.version();
  for (const { deposits, states, sweeps } of turns) {
    const money = async () => {
      for (let made = 0; made < deposits; made += 1) await own.broker.deposit(own.other, "1.00");
    };
    const toggled = async () => {
      for (const readable of states) await put(whole, readable ? {} : damage);
    };
    const swept = Array.from({ length: sweeps }, () => sweepEvents({}, lambdaContext(60_000)));
    await Promise.all([money(), toggled(), settle({ rounds: 1 }), ...swept]);
  }
  await put(whole);
  await settle({ rounds: 4 });
}

describe("an endpoint that can be read from one moment to the next and not", () => {
  it(`gets each event once, whatever publisher and sweeps meet (seed ${seed})`, async () => {
    const programs = fc.array(turn, { minLength: 3, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(programs, async (turns) => {
        const own = await newBrokerage();
        await settle();
        await play(own, turns);
        await expectAllOnce(own);
        expect((await stored(`${own.tenant}|SEQ`, "SEQ")).Item["skipped"]).toBeUndefined();
      }),
      { seed, numRuns: runs, endOnFailure: true },
    );
  }, 600_000);
});
