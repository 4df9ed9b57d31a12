import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { assertReplaced, assertVersions, type Hits, otherRules } from "../../infra/aws-client/plugin.ts";
import { replacements, writtenFor } from "../../infra/aws-client/replacements.ts";
import { type Bundles, bundle } from "../../infra/bundle.ts";
import { functionNode } from "../../infra/local/functions/function-node.mjs";
import { startFaultProxy } from "../support/emulator/fault-proxy.ts";
import { selfSigned } from "../support/stack/self-signed.ts";

const fixtures = new URL("./fixtures", import.meta.url).pathname;
const runtime = functionNode();

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

test("a Node whose modules have other members makes the same bundles", async () => {
  const crypto: Record<string, unknown> = process.getBuiltinModule("node:crypto");
  const entries = [{ name: "The fixture dependencies", file: "dependencies" }];
  crypto["madeByALaterVersion"] = () => undefined;
  const { metafile } = await bundle({ entries, root: fixtures, outdir: join(outdir, "later") }).finally(() => {
    delete crypto["madeByALaterVersion"];
  });
  expect(metafile.inputs["builtin:crypto"]).toEqual(bundles.metafile.inputs["builtin:crypto"]);
  const [first, later] = ["dependencies", "later/dependencies"].map((folder) => join(outdir, folder, "index.mjs"));
  expect(await readFile(String(later), "utf8")).toBe(await readFile(String(first), "utf8"));
});

test.each([
  ["by its name", 'import { cpus } from "node:os";\nexport const handler = () => cpus();'],
  ["with all others", 'import * as os from "node:os";\nexport const handler = () => os.cpus();'],
])("a member of a module of Node that is not written down stops the build when it is imported %s", async (_, text) => {
  const root = await mkdtemp(join(outdir, "members-"));
  await writeFile(join(root, "members.ts"), text);
  const entries = [{ name: "The row members", file: "members" }];
  await expect(bundle({ entries, root, outdir: join(root, "out") })).rejects.toThrow(/members\.ts.*"cpus"/);
});

/** Every rule met once, but for those named. */
function met(...missed: readonly string[]): Hits {
  const rules = [...replacements.map(({ replaces }) => replaces), ...otherRules];
  return new Map(rules.map((rule) => [rule, missed.includes(rule) ? 0 : 1]));
}

test.each([...replacements.map(({ replaces }) => replaces), ...otherRules])(
  "the build fails when the rule for %s matches nothing",
  (rule) => {
    expect(() => assertReplaced(bundles.metafile, met(rule))).toThrow(`Nothing imports ${rule} any more`);
    expect(() => assertReplaced(bundles.metafile, met())).not.toThrow();
  },
);

test("a rule need not match where nothing asks for it", () => {
  const inputs = { "functions/documents/health.ts": { bytes: 1, imports: [] } };
  expect(() => assertReplaced({ inputs, outputs: {} }, new Map())).not.toThrow();
});

test.each([
  ["node_modules/@aws-sdk/credential-provider-sso/dist-es/index.js", "what no function uses"],
  ["node_modules/@smithy/node-http-handler/dist-es/index.js", "what no function uses"],
  ["node_modules/@aws-sdk/client-sqs/node_modules/@smithy/core/dist-es/index.js", "a second version"],
])("the build fails when %s comes in", (path, words) => {
  const { inputs, outputs } = bundles.metafile;
  const metafile = { inputs: { ...inputs, [path]: { bytes: 1, imports: [] } }, outputs };
  expect(() => assertReplaced(metafile, met())).toThrow(words);
});

test("the build fails on packages that the replacements were not compared with", () => {
  expect(() => assertVersions((name) => writtenFor[name] ?? "")).not.toThrow();
  expect(() => assertVersions((name) => (name === "@smithy/core" ? "4.0.0" : (writtenFor[name] ?? "")))).toThrow(
    /written for @smithy\/core \S+ and 4\.0\.0 is installed/,
  );
});

test("every package of the diet is pinned to one version, itself or by what pins it", async () => {
  const manifest = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
  const named = Object.keys(writtenFor).filter((name) => name in manifest.dependencies);
  expect(named.length).toBeGreaterThan(3);
  for (const name of named) expect(manifest.dependencies[name]).toBe(writtenFor[name]);
  const lock = JSON.parse(await readFile(new URL("../../package-lock.json", import.meta.url), "utf8"));
  for (const [name, version] of Object.entries(writtenFor)) {
    expect(lock.packages[`node_modules/${name}`]).toMatchObject({ version });
  }
});

test("one request over TLS loads no undici, HTTP/2, readline or web streams", async () => {
  const certificate = selfSigned();
  const folder = join(outdir, "one-request");
  await writeFile(join(outdir, "ca.pem"), certificate.cert);
  await bundle({ entries: [{ name: "One request", file: "one-request" }], root: fixtures, outdir: folder });
  const module = pathToFileURL(join(folder, "one-request", "index.mjs")).href;
  const event = { body: "{}", headers: { "content-type": "application/json" } };
  const script = `const { handler } = await import("${module}");
    console.log(JSON.stringify(await handler(${JSON.stringify(event)}, {})));`;
  await writeFile(join(outdir, "once.mjs"), script);
  const proxy = await startFaultProxy("http://127.0.0.1", certificate);
  proxy.begin([{ status: 200, body: "{}" }]);
  const { stdout } = await promisify(execFile)(runtime, [join(outdir, "once.mjs")], {
    env: {
      AWS_REGION: "eu-west-1",
      AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
      AWS_SECRET_ACCESS_KEY: "secret",
      AWS_ENDPOINT_URL_DYNAMODB: proxy.endpoint,
      NODE_EXTRA_CA_CERTS: join(outdir, "ca.pem"),
    },
  }).finally(() => proxy.stop());
  const loaded: readonly string[] = JSON.parse(stdout);
  expect(loaded).toContain("NativeModule https");
  expect(loaded.filter((name) => /undici|http2|readline|webstreams/.test(name))).toEqual([]);
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
