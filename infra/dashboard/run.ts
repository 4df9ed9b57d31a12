import { relative, resolve } from "node:path";
import { helpAsked, readArguments, UsageError, wholeNumber } from "../../shared/runtime/command-line.ts";
import { writeApiTypes } from "./api-types.ts";
import { buildDashboard } from "./build.ts";
import { serveDevelopment } from "./development.ts";

const help = `Builds the dashboard and prints how much script each route loads.

npm run dashboard -- [options]
  --out <folder>     where to (default .build/dashboard)
  --dev              build on every change, and serve the result with the API of a running npm start
  --port <n>         port of --dev; the sign-in returns to port 3000 only, so start the service on another one,
                     such as npm start -- --port 4000 (default 3000)
  --help             this text`;

async function main(): Promise<void> {
  if (helpAsked(help)) return;
  const { values } = readArguments({
    out: { type: "string" },
    dev: { type: "boolean", default: false },
    port: { type: "string", default: "3000" },
  });
  await writeApiTypes();
  if (values.dev) {
    const port = wholeNumber("port", values.port, 1, 65_535);
    await serveDevelopment(resolve(values.out ?? ".build/dashboard-development"), resolve(".local/ready.json"), port);
    console.log(`Serving http://127.0.0.1:${port}/ until Ctrl-C.`);
    return;
  }
  const out = resolve(values.out ?? ".build/dashboard");
  await buildDashboard(out);
  console.log(`Built into ${relative(process.cwd(), out)}.`);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof UsageError ? error.message : `The dashboard could not be built. ${error}`);
  process.exit(1);
}
