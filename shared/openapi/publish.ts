import { mkdirSync, writeFileSync } from "node:fs";
import { buildOpenApi, printOpenApi } from "./build.ts";
import { postmanCollection } from "./postman.ts";
import { referencePage } from "./reference.ts";

// `npm run docs`. Everything that is published about the API, made from the rows in one go, so that the page, the
// document and the collection cannot tell different things. The folder is to be copied to any host of static files.
const folder = new URL("../../.build/docs/", import.meta.url);
const document = buildOpenApi({ stage: "production" });
const files: Record<string, string> = {
  "index.html": referencePage(document),
  "openapi.json": printOpenApi(document),
  "openapi.sandbox.json": printOpenApi(buildOpenApi({ stage: "sandbox" })),
  "postman-collection.json": `${JSON.stringify(await postmanCollection(document), null, 2)}\n`,
};
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(files)) writeFileSync(new URL(name, folder), text);
