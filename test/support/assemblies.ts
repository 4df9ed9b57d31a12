import { fileURLToPath } from "node:url";

/** Where the assemblies of both stages, judged by every rule, are kept for the same sources. */
export const keptAssemblies = fileURLToPath(new URL("../../.local/cdk", import.meta.url));

/** The least that a built dashboard has: templates are tested without the application. */
export const placeholderDashboard = fileURLToPath(new URL("../infra/fixtures/dashboard", import.meta.url));
