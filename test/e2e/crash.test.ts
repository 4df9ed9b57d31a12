import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AwsCall } from "../../infra/local/cloud.ts";
import { type ApiReply, fundedAccount } from "../support/stack/api-client.ts";
import { type Stack, watchedStack } from "../support/stack/stack.ts";

/** A place to end the function's process at: its n-th call to AWS, before it is made or after it has had its effect. */
interface Fault {
  readonly functionName: string;
  readonly nth: number;
  readonly phase: AwsCall["phase"];
}

const start = watchedStack();
let stack: Stack;
let seen: AwsCall[] = [];
let armed: Fault | undefined;

function watch(call: AwsCall): void {
  seen.push(call);
  if (armed === undefined || call.functionName !== armed.functionName || call.phase !== armed.phase) return;
  const earlier = seen.filter((one) => one.functionName === call.functionName && one.phase === call.phase);
  if (earlier.length !== armed.nth) return;
  armed = undefined;
  call.kill();
}

beforeAll(async () => {
  stack = await start(watch);
});
afterAll(async () => stack?.stop());

interface Shown {
  readonly balance: string;
  readonly held: string;
  readonly balance_version: number;
}

interface Operation {
  readonly name: string;
  readonly functionName: string;
  /** Makes what the operation needs and returns the operation itself, to be sent any number of times. */
  readonly prepare: () => Promise<{ account_id: string; send: () => Promise<ApiReply> }>;
  /** The account when it happened exactly once. */
  readonly once: Shown;
}

function withKey(method: string, path: () => string, body: () => unknown) {
  const headers = { "Idempotency-Key": randomUUID() };
  return () => stack.api.call(method, path(), { body: body(), headers });
}

const operations: readonly Operation[] = [
  {
    name: "a deposit",
    functionName: "brokerage-sandbox-create-deposit",
    async prepare() {
      const { account_id } = await fundedAccount(stack.api, "100.00");
      const send = withKey(
        "POST",
        () => "/transactions/deposit",
        () => ({ account_id, amount: "25.50" }),
      );
      return { account_id, send };
    },
    once: { balance: "100.00", held: "0.00", balance_version: 1 },
  },
  {
    name: "a withdrawal",
    functionName: "brokerage-sandbox-create-withdrawal",
    async prepare() {
      const { account_id } = await fundedAccount(stack.api, "100.00");
      const send = withKey(
        "POST",
        () => "/transactions/withdrawal",
        () => ({ account_id, amount: "25.50" }),
      );
      return { account_id, send };
    },
    once: { balance: "100.00", held: "25.50", balance_version: 1 },
  },
  {
    name: "a completion",
    functionName: "brokerage-sandbox-update-transaction",
    async prepare() {
      const { account_id } = await fundedAccount(stack.api, "100.00");
      const made = await stack.api.call<{ id: string }>("POST", "/transactions/deposit", {
        body: { account_id, amount: "25.50" },
      });
      const send = withKey(
        "PATCH",
        () => `/transactions/${made.body.id}`,
        () => ({ status: "completed" }),
      );
      return { account_id, send };
    },
    once: { balance: "125.50", held: "0.00", balance_version: 2 },
  },
];

describe.each(operations)("$name whose process is killed", ({ name, functionName, prepare, once }) => {
  it("at any of its calls happens once, and the retry under the same key gets the answer", async () => {
    // An environment that starts makes a call of its own; the second request of one shows those of the operation alone.
    await (await prepare()).send();
    const clean = await prepare();
    seen = [];
    expect((await clean.send()).status).toBeLessThan(300);
    const calls = seen.filter((call) => call.functionName === functionName && call.phase === "before");
    console.log(`${name}: ${calls.map((call) => `${call.service}:${call.action}`).join(", ")}`);
    expect(calls.length).toBeGreaterThanOrEqual(3);

    for (const phase of ["before", "after"] as const) {
      for (let nth = 1; nth <= calls.length; nth += 1) {
        const { account_id, send } = await prepare();
        seen = [];
        armed = { functionName, nth, phase };
        const broken = await send();
        expect({ phase, nth, status: broken.status, code: broken.body["code"], armed }).toEqual({
          phase,
          nth,
          status: 502,
          code: "bad_gateway",
          armed: undefined,
        });
        const retried = await send();
        expect([200, 201]).toContain(retried.status);
        const again = await send();
        expect([again.status, again.text]).toEqual([retried.status, retried.text]);
        const account = await stack.api.call<Shown>("GET", `/accounts/${account_id}`);
        expect({ phase, nth, ...account.body }).toMatchObject({ phase, nth, ...once });
        const list = await stack.api.call<{ data: unknown[] }>("GET", `/accounts/${account_id}/ledger`);
        expect(list.body.data).toHaveLength(once.balance_version);
      }
    }
  });
});
