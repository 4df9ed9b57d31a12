import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { inlined, marked, ordered, undescribed } from "../../infra/declarations.ts";

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

  it.each(["// Why it is asked.", "/* Why it is asked. */"])(
    "keeps the member that a comment %s comes before",
    (comment) => {
      const source = `export const a = route({
  id: "a",
  summary: "Make an a",
  ${comment}
  body: Body,
  reply: A,
  example: { a: 1 },
  ${comment}
  secret: true,
});
`;
      const left = undescribed(source);
      expect(left).toContain("  body: Body,\n");
      expect(left).toContain("  secret: true,\n");
      expect(left).not.toMatch(/summary|example/);
    },
  );

  it("ends the build where a member that functions read would be lost", () => {
    const source = `export const a = route({
  id: "a",
  example: {
    a: 1,
},
  body: Body,
  grants: [],
 // a comment where the formatter puts none
  query: Query,
  reply: A,
});
`;
    expect(() => undescribed(source)).toThrow("The row a would lose query.");
  });
});

describe("the reply of a row", () => {
  const source = `import { A } from "./a.ts";
export const a = route({
  id: "a",
  reply: page(
    A,
  ),
  refusals: [],
});
`;

  it("is the order of its members, in the place of the schema that would have to be made", () => {
    const reply = z.object({ id: z.string(), list: z.array(z.object({ b: z.int(), a: z.nullable(z.int()) })) });
    const order = '{"members":{"id":null,"list":{"each":{"members":{"b":null,"a":null}}}}}';
    expect(ordered(source, [{ id: "a", reply }])).toBe(source.replace("page(\n    A,\n  )", `{ order: ${order} }`));
  });

  it("must be found: a row that nobody knows and one without a reply end the build", () => {
    expect(() => ordered(source, [])).toThrow("The row a has no reply that can be read.");
    const known = [{ id: "a", reply: z.string() }];
    expect(() => ordered(source.replace(/ {2}reply[\s\S]*?\),\n/, ""), known)).toThrow("The row a has no reply");
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

  it("is known where a function names it, too", () => {
    const named = 'import { limits } from "../../shared/limits.ts";\nlimits.b;';
    expect(inlined(named, values)).toBe(named.replace("limits.b", "(1)"));
  });

  it("stays where the name means something else", () => {
    expect(inlined("limits.b;", values)).toBe("limits.b;");
  });
});
