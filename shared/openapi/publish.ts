import { mkdirSync, writeFileSync } from "node:fs";
import { helpAsked, readArguments, runCommand } from "../runtime/command-line.ts";
import { buildOpenApi, printOpenApi } from "./build.ts";
import { postmanCollection, postmanEnvironment } from "./postman.ts";
import { referencePage } from "./reference.ts";
import { buildAsyncApi, printAsyncApi } from "./stream/build-async.ts";

const help = `Writes what is published about the API into .build/docs/, for any host of static files: the
reference page, the OpenAPI document of each stage, the AsyncAPI document of the stream,
and a Postman collection of the sandbox with its environment.

npm run docs -- [options]
  --help             this text`;

/** Writes page, documents and collection from the same rows, so that they are consistent. */
async function publish(): Promise<void> {
  if (helpAsked(help)) return;
  readArguments({});
  const folder = new URL("../../.build/docs/", import.meta.url);
  const document = buildOpenApi({ stage: "production" });
  const sandbox = buildOpenApi({ stage: "sandbox" });
  const files: Record<string, string> = {
    "index.html": referencePage(document),
    "openapi.json": printOpenApi(document),
    "openapi.sandbox.json": printOpenApi(sandbox),
    "asyncapi.json": printAsyncApi(buildAsyncApi()),
    "postman-collection.json": `${JSON.stringify(postmanCollection(sandbox), null, 2)}\n`,
    "postman-environment.json": `${JSON.stringify(postmanEnvironment(sandbox), null, 2)}\n`,
  };
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(new URL(name, folder), text);
}

await runCommand(publish);
