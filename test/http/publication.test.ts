import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { buildOpenApi } from "../../shared/openapi/build.ts";
import { type PostmanCollection, postmanCollection, postmanEnvironment } from "../../shared/openapi/postman.ts";
import { referencePage } from "../../shared/openapi/reference.ts";
import { tour } from "../../shared/openapi/tour.ts";
import { routes } from "../../shared/routes/index.ts";
import type { Route } from "../../shared/routes/route.ts";

const document = buildOpenApi();

describe("the reference page", () => {
  const page = referencePage(document);
  const scripts = [...page.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, code]) => code ?? "");
  const markup = page.replaceAll(/<script>[\s\S]*?<\/script>/g, "");

  it("lets the browser load nothing from any host, whatever its code asks for", () => {
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(markup)?.[1] ?? "";
    const sources = policy.split("; ").map((directive) => directive.split(" ").slice(1));
    expect(policy).toMatch(/^default-src 'none';/);
    expect(sources.flat().filter((source) => !/^(?:'none'|'unsafe-inline'|blob:|data:)$/.test(source))).toEqual([]);
  });

  it("names no address to load from in its markup, and none of a picture or a font in its code", () => {
    expect(markup).not.toMatch(/(?:src|href|action)=|@import|url\(/);
    expect(scripts).toHaveLength(2);
    for (const code of scripts) expect(code).not.toMatch(/cdn\.redoc\.ly|fonts\.googleapis|sourceMappingURL=(?!data:)/);
  });

  it("holds the whole document, and no text of it ends a script", () => {
    const hostile = buildOpenApi();
    hostile.info["description"] = "</script><script>alert(1)</script><!--";
    const code = referencePage(hostile).split("<script>").at(-1) ?? "";
    expect(code.indexOf("</script>")).toBe(code.lastIndexOf("</script>"));
    const [, data = ""] = /^Redoc\.init\((\{.*\}), \{"expandResponses"/m.exec(scripts[1] ?? "") ?? [];
    expect(JSON.parse(data)).toEqual(JSON.parse(JSON.stringify(document)));
  });

  it("carries the licence of what it is made with", () => {
    expect(page).toContain("Copyright (c) 2015-present, Rebilly, Inc.");
  });
});

/** The parts of Postman's own library that the test asks. */
interface Postman {
  readonly Collection: new (
    json: object,
  ) => {
    forEachItem(
      visit: (item: { request: { method: string; url: { path: readonly string[]; getHost(): string } } }) => void,
    ): void;
  };
}

/** The requests of the collection, by the names of their rows, in their order. */
function requestsOf({ item: folders }: PostmanCollection) {
  const items = folders.flatMap(({ item = [] }) => item);
  return tour.flatMap(({ steps }) => steps).map(({ row }, at) => ({ row, ...items[at] }) as const);
}

describe("the Postman collection", () => {
  const sandbox = buildOpenApi({ stage: "sandbox" });
  const collection = postmanCollection(sandbox);
  const requests = requestsOf(collection);
  const rowOf = (id: string) => routes.find((row) => row.id === id);

  it("is read by Postman's own library and has every row", () => {
    const fromNewman = createRequire(createRequire(import.meta.url).resolve("newman"));
    const { Collection } = fromNewman("postman-collection") as Postman;
    const found = new Set<string>();
    new Collection(collection).forEachItem(({ request: { method, url } }) => {
      expect(url.getHost()).toBe("{{base_url}}");
      found.add(`${method} /${url.path.join("/").replace(/:\w+/g, "{}")}`);
    });
    expect([...found].toSorted()).toEqual(
      routes.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, "{}")}`).toSorted(),
    );
    expect(collection.info["schema"]).toMatch(/collection\/v2\.1\.0\/collection\.json$/);
  });

  it("authenticates every request as its row says", () => {
    expect(collection["auth"]).toMatchObject({ type: "bearer", bearer: [{ key: "token", value: "{{access_token}}" }] });
    const wanted = ({ auth, tag }: Route) => (auth === "token" ? "token" : tag === "OAuth" ? "basic" : "noauth");
    for (const { row, request } of requests) {
      const expected = row === "get_key_set" ? "noauth" : wanted(rowOf(row) as Route);
      const { type = "token" } = (request?.["auth"] ?? {}) as { type?: string };
      expect([row, type]).toEqual([row, expected]);
    }
  });

  it("sends a value for every query parameter that a row requires", () => {
    type Parameter = { readonly in?: string; readonly name?: string; readonly required?: boolean };
    for (const { row, request } of requests) {
      const { query } = (request?.["url"] ?? {}) as { readonly query: readonly Readonly<Record<string, unknown>>[] };
      const { path, method } = rowOf(row) as Route;
      const known = sandbox.paths[path]?.[method.toLowerCase()]?.["parameters"] as readonly Parameter[];
      const required = known.filter((one) => one.in === "query" && one.required === true).map(({ name }) => name);
      const sent = query.filter(({ value, disabled }) => value !== "" && disabled === false).map(({ key }) => key);
      expect(sent).toEqual(expect.arrayContaining(required));
    }
  });

  it("names no variable that it does not have, and holds no value but the address", () => {
    const known = new Set(collection.variable.map(({ key }) => key));
    const named = [...JSON.stringify(collection).matchAll(/\{\{([^$}][^}]*)\}\}/g)].map(([, name = ""]) => name);
    expect([...new Set(named)].filter((name) => !known.has(name))).toEqual([]);
    for (const { key, value } of [...collection.variable, ...postmanEnvironment(sandbox).values])
      expect([key, value]).toEqual([key, key === "base_url" ? sandbox.servers[0]?.url : ""]);
  });
});
