import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { inlined, marked, undescribed } from "../../infra/declarations.ts";

/** What the bundler keeps of a module of which `kept` alone is used. */
async function bundled(source: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: 'export { kept } from "module";', loader: "ts" },
    plugins: [
      {
        name: "module",
        setup(context) {
          context.onResolve({ filter: /^module$/ }, () => ({ path: "module", namespace: "module" }));
          context.onLoad({ filter: /.*/, namespace: "module" }, () => ({ contents: source, loader: "ts" }));
        },
      },
    ],
    bundle: true,
    write: false,
    format: "esm",
    minifySyntax: true,
    external: ["elsewhere"],
  });
  return outputFiles[0]?.text ?? "";
}

describe("a file that only declares", () => {
  const source = `import { make } from "elsewhere";
const part = make({
  a: 1,
});
export const kept: readonly string[] = [
  "x",
  "y",
] as const;
export const left = make(part)
  .check(() => {
    return 1;
  });
export function used() {
  const inside = make(1);
  return inside;
}
`;

  it("loses what nobody uses, and without the marks it would not", async () => {
    expect(await bundled(source)).toContain("check");
    expect(await bundled(marked(source))).not.toContain("make(");
  });

  it("keeps its values", async () => {
    expect(await bundled(marked(source))).toMatch(/kept = \[\s*"x",\s*"y"\s*\]/);
  });

  it("is not touched inside of its functions", () => {
    expect(marked(source)).toContain("  const inside = make(1);");
  });
});

describe("a row", () => {
  it("loses its texts and grants and nothing else", () => {
    const source = `export const a = route({
  id: "a",
  summary: "What it does",
  description:
    "More, with { and },",
  example: {
    summary: "inner",
    id: 1,
  },
  grants: ["read"],
  reply: A,
  stages: ["sandbox"],
});
`;
    expect(undescribed(source)).toBe(`export const a = route({
  id: "a",
  reply: A,
});
`);
  });
});

describe("a limit", () => {
  const values = { a: { n: 5, big: 10n, list: [1] }, b: 1 };
  const of = (text: string) => inlined(`import { limits } from "../limits.ts";\n${text}`, values).split("\n")[1];

  it.each([
    ["f(limits.a.n);", "f((5));"],
    ["`${limits.b}`;", "`${(1)}`;"],
    ["limits.a.big;", "(10n);"],
    ["const { n } = limits.a;", 'const { n } = ({"n":5,"big":10n,"list":[1]});'],
    ["limits.none;", "limits.none;"],
    ["row.limits.b;", "row.limits.b;"],
    ["limits;", "limits;"],
  ])("%s becomes %s", (text, expected) => {
    expect(of(text)).toBe(expected);
  });

  it("stays where the name means something else", () => {
    expect(inlined("limits.b;", values)).toBe("limits.b;");
  });
});
