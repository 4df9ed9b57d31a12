import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { inlined, marked, undescribed } from "../../infra/declarations.ts";
import { rowsOf, shippedRows } from "../../infra/shipped-rows.ts";

/** The bundled part of a module of which `kept` alone is used. */
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

describe("a file of schemas", () => {
  it("is shipped without descriptions, whatever stands between schema and description", () => {
    const source = `import { described } from "./described.ts";
export const kept = z.object({
  a: described(z.string(), "A."),
  b: described(
    // A comment, and a description of two lines.
    z.optional(described(z.object({ c: described(z.int(), "C.") }), "Inner.")),
    "Outer, " +
      "continued.",
  ),
});
`;
    const shipped = undescribed(source);
    expect(shipped).not.toMatch(/described\(|A\.|C\.|Inner|Outer|continued/);
    expect(shipped.replace(/\s+/g, " ")).toContain("a: z.string(), b: z.optional(z.object({ c: z.int() })), });");
  });
});

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

  it("loses what is not used, and without the marks it would not", async () => {
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

describe("a file of rows", () => {
  const Body = z.object({ name: z.string() });
  const reply = z.object({ id: z.string(), list: z.array(z.object({ b: z.int(), a: z.nullable(z.int()) })) });
  const named = new Map<unknown, { module: string; name: string }>([
    [Body, { module: "../schema/a.ts", name: "Body" }],
  ]);
  const makeA = { id: "make_a", method: "POST", path: "/a", summary: "Make an a", grants: ["put"], body: Body, reply };

  it("is shipped without texts and grants, with its schemas by name and its reply as the order of its members", () => {
    const order = '{"members":{"id":null,"list":{"each":{"members":{"b":null,"a":null}}}}}';
    const row = `{ id: "make_a", method: "POST", path: "/a", body: Body, reply: { order: ${order} } }`;
    const statement = 'import { Body } from "../schema/a.ts";';
    expect(rowsOf({ makeA, all: [makeA] }, named, "a.ts")).toBe(
      `${statement}\nexport const makeA = ${row};\nexport const all = [makeA];\n`,
    );
  });

  it("ends the build where a body has no name, something else is exported, or a member is no literal", () => {
    const unnamed = { ...makeA, body: z.object({}) };
    expect(() => rowsOf({ unnamed }, named, "a.ts")).toThrow("The body of the row make_a must be a schema");
    expect(() => rowsOf({ makeA, help: () => 1 }, named, "a.ts")).toThrow("a.ts exports help, which is neither");
    expect(() => rowsOf({ odd: { ...makeA, rate: /x/ } }, named, "a.ts")).toThrow("There is no literal of this value");
  });

  it("is shipped the same with a comment, a blank line or a helper at any place of a row", async () => {
    const folder = mkdtempSync(join(tmpdir(), "planted-rows-"));
    const real = new URL("../../shared/routes/", import.meta.url).pathname;
    for (const file of readdirSync(real).filter((name) => !["route.ts", "index.ts"].includes(name))) {
      const source = readFileSync(join(real, file), "utf8")
        .replaceAll(/from "(\.\.?\/[^"]+)"/g, (_, target: string) => `from ${JSON.stringify(join(real, target))}`)
        .replaceAll(/^( {2,}\w+: )/gm, "\n  /* a comment */ // and another, with }); and reply: in it\n$1")
        .replaceAll(/summary: ("[^"]+")/g, "summary: plantedHelper($1)");
      const helper = 'function plantedHelper(text: string) {\n  return text.concat("!");\n}\n';
      writeFileSync(join(folder, file), `${source}${helper}`);
      expect(await shippedRows(join(folder, file))).toBe(await shippedRows(join(real, file)));
    }
    rmSync(folder, { recursive: true, force: true });
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
    ['"limits.b"; // limits.b', '"limits.b"; // limits.b'],
    ["limits\n  .a.list.map(f);", "([1]).map(f);"],
    ["limits.a.list.length;", "(1);"],
  ])("%s becomes %s", (text, expected) => {
    expect(of(text)).toBe(expected);
  });

  it("is known where a function names it, too", () => {
    const named = 'import { limits } from "../../shared/limits.ts";\nlimits.b;';
    expect(inlined(named, values)).toBe(named.replace("limits.b", "(1)"));
  });

  it.each([
    "const f = (limits: X) => limits.b;",
    "function f({ limits }: X) { return limits.b; }",
    "function f() { const [limits = 2] = g; return limits; }",
  ])("ends the build where the name is given to another value: %s", (text) => {
    expect(() => of(text)).toThrow("Another value is named limits");
  });

  it.each([/x/, new Date(0), Number.NaN, () => 1, new Map(), { list: [/x/] }])(
    "ends the build where it is no literal: %s",
    (odd) => {
      const text = 'import { limits } from "../limits.ts";\nlimits.odd;';
      expect(() => inlined(text, { odd })).toThrow("There is no literal of this value");
    },
  );

  it("stays where the name means something else", () => {
    expect(inlined("limits.b;", values)).toBe("limits.b;");
  });
});
