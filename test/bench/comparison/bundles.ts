import { join } from "node:path";
import { build } from "esbuild";
import { bundle, requireOfNode } from "../../../infra/bundle.ts";
import { declarations } from "../../../infra/declarations.ts";
import { peersFolder } from "./packages.ts";

/** The two requests that are compared, by the names of the peers' files, with our functions of them. */
export const compared = { "get-client": "clients/get", "create-client": "clients/create" } as const;
/** One of them. */
export type Compared = keyof typeof compared;

/** The contestants: the folder of their sources under `peers/`, or how our own functions are bundled. */
export const contestants = {
  ours: "this service",
  published: "this service, SDK as published",
  hono: "Hono",
  express: "Express and serverless-http",
  fastify: "Fastify",
  nest: "NestJS",
} as const;
/** One of them. */
export type Contestant = keyof typeof contestants;

/** Those that are frameworks. */
export const frameworks = ["hono", "express", "fastify", "nest"] as const satisfies readonly Contestant[];

/** Packages that NestJS looks for and does without. */
const optional = ["@nestjs/microservices", "@nestjs/websockets", "class-transformer", "class-validator"];

/**
 * Bundles everything that is compared, each request of each contestant alone, with the settings of production; of the
 * peers with the AWS SDK as it is published.
 * @param packages the folder `node_modules` of the peers
 */
export async function bundleContestants(outdir: string, packages: string): Promise<void> {
  const files = Object.values(compared);
  const entries = files.map((file) => ({ name: file, file }));
  const root = new URL("../../../functions", import.meta.url).pathname;
  await bundle({ entries, root, outdir: join(outdir, "ours") });
  await bundle({ entries, root, outdir: join(outdir, "published"), diet: false });
  await build({
    entryPoints: frameworks.flatMap((framework) =>
      Object.keys(compared).map((name) => ({
        in: join(peersFolder, framework, `${name}.ts`),
        out: join(framework, name, "index"),
      })),
    ),
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node22",
    mainFields: ["module", "main"],
    legalComments: "none",
    logLevel: "silent",
    nodePaths: [packages],
    external: optional.flatMap((name) => [name, `${name}/*`]),
    plugins: [declarations()],
    banner: { js: requireOfNode },
  });
}

/** The bundle of a contestant for a request. */
export function bundleOf(outdir: string, contestant: Contestant, name: Compared): string {
  const own = contestant === "ours" || contestant === "published";
  return join(outdir, contestant, own ? compared[name] : name, "index.mjs");
}
