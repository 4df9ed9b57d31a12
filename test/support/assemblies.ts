import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { keptAssembly, sourceDigest } from "../../infra/local/synthesis.ts";

/** Where the assembly of the sandbox stage, judged by every rule, is kept for the same sources. */
export const keptAssemblies = fileURLToPath(new URL("../../.local/cdk", import.meta.url));

/** Where assemblies that only tests read are kept for the same sources. */
export const keptTestAssemblies = fileURLToPath(new URL("../../.local/cdk-tests", import.meta.url));

/** The least that a built dashboard has: templates are tested without the application. */
export const placeholderDashboard = fileURLToPath(new URL("../infra/fixtures/dashboard", import.meta.url));

/**
 * The folder of the production stage, judged by every rule. It takes the bundles and the dashboard of the sandbox stage
 * at `sandboxDir`: they are built from the same sources and know no stage.
 * @throws what the synthesis throws, where a rule finds something
 */
export async function productionAssembly(sandboxDir: string): Promise<string> {
  const { directory } = await keptAssembly(
    keptTestAssemblies,
    "production",
    sourceDigest("production"),
    async (outdir) => {
      // Where the assembly is kept, the CDK need not be loaded, which takes longer than to read the templates.
      const { synthesize } = await import("../../infra/app.ts");
      const built = { bundled: join(sandboxDir, "bundle"), dashboard: join(sandboxDir, "dashboard") };
      await synthesize({ stage: "production", outdir, ...built });
    },
  );
  return directory;
}
