import { afterEach, describe, expect, it } from "vitest";
import type { CloudOptions } from "../../infra/local/cloud.ts";
import { startTestCloud, type TestCloud } from "./fixture.ts";

const code = "export const handler = () => [process.env.BROKERAGE_LOCAL ?? null, process.env.TIME_SCALE ?? null];";

describe("the environment that the runner adds to a function's own", () => {
  let test: TestCloud | undefined;
  afterEach(() => test?.stop());

  it.each<[string, Partial<CloudOptions>, unknown[]]>([
    ["leave to reach local addresses and no time scale by default", {}, ["1", null]],
    [
      "no such leave with strict egress, as on AWS, and a time scale",
      { strictEgress: true, timeScale: 6 },
      [null, "6"],
    ],
  ])("holds %s", async (_, options, expected) => {
    test = await startTestCloud({ functions: { shows: { code } } }, options);
    expect((await test.cloud.invoke("shows", {})).payload).toEqual(expected);
  });
});
