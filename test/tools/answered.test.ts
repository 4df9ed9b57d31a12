import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { answered } from "../../infra/tools/answered.ts";
import { machineNode } from "../support/machine-node.ts";

const module = new URL("../../infra/tools/answered.ts", import.meta.url);

/** Runs a program in a process of its own, in which `answered` is known; returns what it prints. */
async function printed(program: string): Promise<string> {
  const text = `const { answered } = await import(${JSON.stringify(module.href)});\n${program}`;
  const words = ["--import", "tsx", "--input-type=module", "--eval", text];
  return (await promisify(execFile)(machineNode, words)).stdout;
}

describe("work that must be answered", () => {
  it("keeps its process until its limit when nothing else does, as a fetch that lost its connection", async () => {
    const program = `await answered(50, () => new Promise(() => {})).catch(({ name }) => console.log(name));`;
    const limited = `await answered(50, (signal) => new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    })).catch(({ name, message }) => console.log(name, message));`;
    expect(await printed(limited)).toBe("TimeoutError nothing came within 0.05 s\n");
    expect(await printed(program)).toBe("TimeoutError\n");
  });

  it("does not keep its process after the answer", async () => {
    expect(await printed(`console.log(await answered(3_600_000, async () => "done"));`)).toBe("done\n");
  });

  it("is ended by its caller", async () => {
    const caller = new AbortController();
    const work = answered(
      60_000,
      (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      caller.signal,
    );
    caller.abort(new Error("The caller stops."));
    await expect(work).rejects.toThrow("The caller stops.");
  });
});
