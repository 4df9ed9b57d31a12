import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "../../../infra/bundle.ts";
import { routes } from "../../../shared/routes/index.ts";
import { eventSourceFunctions } from "../../support/rules/architecture-rules.ts";

/** Writes `sizes.json`: the size of the bundle of each function in KiB, for the review of a change. */
const outdir = await mkdtemp(join(tmpdir(), "bundle-sizes-"));
const files = [...routes.map(({ file }) => file), ...eventSourceFunctions].toSorted();
const entries = files.map((file) => ({ name: file, file }));
const { metafile } = await bundle({ entries, root: new URL("../../../functions", import.meta.url).pathname, outdir });
await rm(outdir, { recursive: true });
const bytesOf = (file: string) =>
  Object.values(metafile.outputs).find(({ entryPoint }) => entryPoint === `entry:${file}`)?.bytes ?? 0;
const sizes = Object.fromEntries(files.map((file) => [file, Math.round(bytesOf(file) / 1024)]));
await writeFile(new URL("sizes.json", import.meta.url), `${JSON.stringify(sizes, null, 2)}\n`);
