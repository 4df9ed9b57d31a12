import { readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { extname, join } from "node:path";
import type { Loader, Metafile, Plugin } from "esbuild";
import { builtinMembers } from "./builtin-members.ts";
import { operationsModule } from "./json-operations.ts";
import {
  anyClient,
  jsonClients,
  jsonServices,
  nativeFunctions,
  type Replacement,
  replacements,
  withoutSideEffects,
  writtenFor,
} from "./replacements.ts";

/** How often each rule was met, by its name. */
export type Hits = ReadonlyMap<string, number>;

/** Rules beside the replacements: for modules of Node, clients, their commands and schemas, lodash, side effects. */
const builtinsRule = "node:*";
const clientsRule = "@aws-sdk/client-*";
const commandsRule = "@aws-sdk/client-*/commandBuilder";
const schemasRule = "@aws-sdk/client-*/schemas";
const nativesRule = "lodash.*";
const sideEffectsRule = "@aws-sdk/lib-dynamodb";

const folder = import.meta.dirname;

/** Packages that must not come back by another way once their doors are closed. */
const bannedInputs = [
  "@aws-sdk/credential-provider-ini",
  "@aws-sdk/credential-provider-sso",
  "@aws-sdk/credential-provider-web-identity",
  "@aws-sdk/credential-provider-process",
  "@aws-sdk/credential-provider-login",
  "@aws-sdk/nested-clients",
  "@smithy/credential-provider-imds",
  "@smithy/node-http-handler",
  "mnemonist",
  "semver",
];

const others = [
  { replaces: builtinsRule, neededBy: anyClient },
  ...[clientsRule, commandsRule, schemasRule].map((replaces) => ({ replaces, neededBy: jsonClients })),
  { replaces: nativesRule, neededBy: /node_modules\/jsonwebtoken\/sign\.js$/ },
  { replaces: sideEffectsRule, neededBy: /node_modules\/@aws-sdk\/lib-dynamodb\// },
];

/** Names of the rules that are no replacements. */
export const otherRules: readonly string[] = others.map(({ replaces }) => replaces);

const builtinName = new RegExp(`^(?:node:)?(?:${builtinModules.map((name) => name.replace("/", "\\/")).join("|")})$`);

/** The client, the maker of its commands and its schemas. */
const clientFile = new RegExp(`${jsonClients.source}dist-es\\/(\\w+Client)\\.js$`);
const commandsFile = new RegExp(`${jsonClients.source}dist-es\\/commandBuilder\\.js$`);
const schemasFile = new RegExp(`${jsonClients.source}dist-es\\/schemas\\/schemas_0\\.js$`);

/** Counts how often each rule is met, since a renamed package would silently match nothing. */
export function awsClient(): { plugin: Plugin; hits: Hits } {
  const hits = new Map<string, number>();
  const meet = (name: string) => hits.set(name, (hits.get(name) ?? 0) + 1);
  const byImport = new Map(replacements.map((rule) => [rule.replaces, rule]));
  const byFile = replacements.filter(({ replaces }) => replaces.startsWith("/"));
  const plugin: Plugin = {
    name: "aws-client",
    setup(context) {
      context.onResolve({ filter: builtinName }, ({ path, kind }) => {
        meet(builtinsRule);
        const namespace = kind === "require-call" ? "builtin-required" : "builtin";
        return { path: path.replace(/^node:/, ""), namespace, sideEffects: false };
      });
      context.onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({ contents: builtin(path), loader: "js" }));
      context.onLoad({ filter: /.*/, namespace: "builtin-required" }, ({ path }) => ({
        contents: `module.exports = ${loaded(path)};`,
        loader: "js",
      }));
      context.onResolve({ filter: /^[a-z@]/ }, async ({ path, resolveDir, kind, pluginData }) => {
        const rule = byImport.get(path);
        if (rule !== undefined) {
          meet(path);
          return { path: join(folder, rule.by), sideEffects: false };
        }
        if (path in nativeFunctions) {
          meet(nativesRule);
          return { path, namespace: "native" };
        }
        // Resolving asks this function again; the mark ends it.
        if (!withoutSideEffects.includes(path) || pluginData === resolving) return undefined;
        meet(sideEffectsRule);
        const { path: file } = await context.resolve(path, { resolveDir, kind, pluginData: resolving });
        return { path: file, sideEffects: false };
      });
      context.onLoad({ filter: /.*/, namespace: "native" }, ({ path }) => ({
        contents: `module.exports = ${nativeFunctions[path]};`,
      }));
      context.onLoad({ filter: schemasFile }, async ({ path }) => {
        meet(schemasRule);
        const [, client = ""] = schemasFile.exec(path) ?? [];
        return { contents: await operationsModule(client), loader: "js" };
      });
      context.onLoad({ filter: clientFile }, ({ path }) => {
        meet(clientsRule);
        const [, client = "", name = ""] = clientFile.exec(path) ?? [];
        return clientOf(client, name, path);
      });
      context.onLoad({ filter: commandsFile }, ({ path }) => {
        meet(commandsRule);
        return { contents: commandsOf(readFileSync(path, "utf8")), loader: "js" };
      });
      context.onLoad({ filter: /\/node_modules\/@(?:smithy|aws-sdk)\/.*\.js$/ }, ({ path }) => {
        const rule = byFile.find(({ replaces }) => path.endsWith(replaces));
        if (rule === undefined) return undefined;
        meet(rule.replaces);
        return standIn(rule);
      });
    },
  };
  return { plugin, hits };
}

const resolving = Symbol("resolving");

/** The file of a client: its service's facts, and the client that they make. */
function clientOf(
  client: string,
  name: string,
  path: string,
): { contents: string; loader: Loader; resolveDir: string } {
  const service = jsonServices[client];
  if (service === undefined) throw new Error(`Nothing is known of the service of ${client}.`);
  const version = installedVersion(`@aws-sdk/${client}`);
  const facts = JSON.stringify({ ...service, version });
  const contents = [
    `import { errorTypeRegistries } from ${JSON.stringify(join(path, "../schemas/schemas_0.js"))};`,
    'import { JsonClient } from "./json-client.ts";',
    ...(client === "client-sqs" ? ['import { Md5 } from "./md5.ts";'] : []),
    `const service = { ...${facts}, errors: errorTypeRegistries${client === "client-sqs" ? ", md5: Md5" : ""} };`,
    `export class ${name} extends JsonClient { constructor(settings) { super(service, settings); } }`,
    "export { JsonClient as __Client };",
  ].join("\n");
  return { contents, loader: "js", resolveDir: folder };
}

/** The file that makes a client's commands, with the plugins of each and without what rules of endpoints would ask. */
function commandsOf(source: string): string {
  const instructions = /^export const (_ep\d+) = \{[\s\S]*?\};$/gm;
  const plain = source
    .replace(/^import .* from "(?:@smithy\/core\/|\.\/).*";\n/gm, "")
    .replace(instructions, "export const $1 = 0;");
  const made = plain.replace(/^export const command = .*$/m, "");
  if (made === plain) throw new Error("The makers of commands have another form.");
  return `export { command } from ${JSON.stringify(join(folder, "json-client.ts"))};\n${made}`;
}

/**
 * A module of Node without its import: an `import` of `node:http` reads every member of it, and those that Node makes
 * at their first reading bring undici, HTTP/2 and web streams along, 13 to 17 ms. Each member is a constant of its own
 * here, so that those that no code names are left out, and no list of all of them is made at start.
 */
function builtin(name: string): string {
  if (lateMembers.includes(name)) return `module.exports = ${loaded(name)};`;
  // Middy names one class of it for answers that stream, which no function of ours does.
  if (name === "stream/web") {
    return `module.exports = { get ReadableStream() { return ${loaded(name)}.ReadableStream; } };`;
  }
  const named = builtinMembers[name] ?? [];
  const constants = named.map((each) => `const _${each} = /* @__PURE__ */ (() => all.${each})();`);
  const exported = named.map((each) => `_${each} as ${each}`);
  return `const all = ${loaded(name)};\n${constants.join("\n")}\nexport { all as default, ${exported.join(", ")} };`;
}

/** Modules of which a package names a member that Node makes when it is read: `promises`, which loads readline. */
const lateMembers = ["fs"];

function loaded(name: string): string {
  return `process.getBuiltinModule(${JSON.stringify(`node:${name}`)})`;
}

/** The text of a file's stand-in, which is read in the place of the file, so its path in the metafile stays. */
function standIn({ by }: Replacement): { contents: string; loader: Loader; resolveDir: string } {
  const loader = extname(by) === ".ts" ? "ts" : "js";
  return { contents: readFileSync(join(folder, by), "utf8"), loader, resolveDir: folder };
}

/** Throws when packages are there in another version than the replacements were written for. */
export function assertVersions(installed: (name: string) => string): void {
  for (const [name, version] of Object.entries(writtenFor)) {
    const found = installed(name);
    if (found === version) continue;
    throw new Error(
      `The replacements were written for ${name} ${version} and ${found} is installed: ` +
        "run test/infra/aws-client.test.ts on it, then set the version in infra/aws-client/replacements.ts.",
    );
  }
}

/** The version of a package as it is installed. */
export function installedVersion(name: string): string {
  const file = join(folder, "../../node_modules", name, "package.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** Throws when the SDK is in the bundles but a rule did not do its work. */
export function assertReplaced(metafile: Metafile, hits: Hits): void {
  const inputs = Object.keys(metafile.inputs);
  const needed = [...replacements, ...others].filter(({ neededBy }) => inputs.some((input) => neededBy.test(input)));
  const missed = needed.find(({ replaces }) => !hits.get(replaces));
  if (missed !== undefined) throw new Error(`Nothing imports ${missed.replaces} any more: the rule matched nothing.`);
  const leaked = inputs.filter((input) => bannedInputs.some((name) => input.includes(`node_modules/${name}/`)));
  if (leaked.length > 0) throw new Error(`The bundles hold what no function uses: ${leaked[0]}`);
  const twice = inputs.find((input) => /node_modules\/.*node_modules\/@(?:smithy|aws-sdk)\//.test(input));
  if (twice !== undefined) throw new Error(`The bundles hold a second version of a package of the SDK: ${twice}`);
}
