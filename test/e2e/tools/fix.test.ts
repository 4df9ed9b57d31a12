import { afterAll, beforeAll, expect, it } from "vitest";
import { proveOn } from "../../../infra/tools/bridge/fix/proof/prove.ts";
import { type Stack, sharedStack } from "../../support/stack/stack.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await sharedStack();
});
afterAll(async () => stack?.stop());

// The engine is installed at its first use, as it is for a broker. `npm run bridge -- test` is the long form.
it("carries fills of a FIX venue into trades once each, while the bridge and the venue are killed", async () => {
  const { credentials } = await stack.newApplication();
  const trial = { seconds: 3, deals: 24, seed: 4 };
  const proved = await proveOn({ base_url: stack.baseUrl, ...credentials }, trial, console.log);
  expect(proved).toMatchObject({ deals: 24 });
  expect(proved.deposits).toBeGreaterThan(0);
  expect(proved.killed).toMatch(/^bridge killed [1-9]\d* times, venue [1-9]\d* times, service cut off [1-9]/);
}, 240_000);
