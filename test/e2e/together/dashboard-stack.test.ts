import { fileURLToPath } from "node:url";
import { describe } from "vitest";
import { onDashboardStack } from "../../support/stack/on-shared-stack.ts";

// Files of a run that names no file run here, for the reason that `shared-stack.test.ts` gives.
for (const name of onDashboardStack) {
  describe(name, async () => {
    await import(/* @vite-ignore */ fileURLToPath(new URL(`../${name}.test.ts`, import.meta.url)));
  });
}
