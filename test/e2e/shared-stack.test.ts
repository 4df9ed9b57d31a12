import { fileURLToPath } from "node:url";
import { describe } from "vitest";
import { onSharedStack } from "../support/stack/on-shared-stack.ts";

// Files of a run that names no file run here, one after the other in one worker: on two workers each would start the
// functions of all routes for itself, about 110 processes with 0.3 s of a processor each, and a market that moves.
for (const name of onSharedStack) {
  describe(name, async () => {
    await import(/* @vite-ignore */ fileURLToPath(new URL(`${name}.test.ts`, import.meta.url)));
  });
}
