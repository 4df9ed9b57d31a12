import { readFileSync, writeFileSync } from "node:fs";
import { routes } from "../routes/index.ts";
import { buildOpenApi, printOpenApi } from "./build.ts";
import { withEndpointTable } from "./endpoint-table.ts";

// `npm run openapi`. The file is committed, so that a change of the interface is seen in review and served without
// schemas; the README's table of endpoints comes from the same rows.
writeFileSync(new URL("openapi.json", import.meta.url), printOpenApi(buildOpenApi()));
const readme = new URL("../../README.md", import.meta.url);
writeFileSync(readme, withEndpointTable(readFileSync(readme, "utf8"), routes));
