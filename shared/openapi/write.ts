import { readFileSync, writeFileSync } from "node:fs";
import { routes } from "../routes/index.ts";
import { helpAsked, readArguments, runCommand } from "../runtime/command-line.ts";
import { buildOpenApi, printOpenApi } from "./build.ts";
import { withEndpointTable } from "./print.ts";
import { buildAsyncApi, printAsyncApi } from "./stream/build-async.ts";

const help = `Writes shared/openapi/openapi.json, shared/openapi/stream/asyncapi.json and the table of endpoints
in functions/README.md from the rows and schemas.

npm run openapi -- [options]
  --help             this text`;

/**
 * The files are committed, so that a change of the interface is visible in reviews and served without schemas; the
 * table of endpoints in functions/README.md is generated from the same rows.
 */
function write(): void {
  if (helpAsked(help)) return;
  readArguments({});
  writeFileSync(new URL("openapi.json", import.meta.url), printOpenApi(buildOpenApi()));
  writeFileSync(new URL("stream/asyncapi.json", import.meta.url), printAsyncApi(buildAsyncApi()));
  const page = new URL("../../functions/README.md", import.meta.url);
  writeFileSync(page, withEndpointTable(readFileSync(page, "utf8"), routes));
}

await runCommand(write);
