import { writeFileSync } from "node:fs";
import { buildOpenApi, printOpenApi } from "./build.ts";

// `npm run openapi`. The file is committed, so that a change of the interface is seen in review and served without
// schemas.
writeFileSync(new URL("openapi.json", import.meta.url), printOpenApi(buildOpenApi()));
