import { createRequire } from "node:module";
import { beforeAll, describe, expect, it } from "vitest";
import { buildOpenApi } from "../../shared/openapi/build.ts";
import { type PostmanCollection, postmanCollection } from "../../shared/openapi/postman.ts";
import { referencePage } from "../../shared/openapi/reference.ts";
import { routes } from "../../shared/routes/index.ts";

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
      visit: (item: { request: { method: string; url: { getPath(): string; getHost(): string } } }) => void,
    ): void;
    variables: { has(key: string): boolean };
  };
}

describe("the Postman collection", () => {
  let collection: PostmanCollection;
  let again: PostmanCollection;
  beforeAll(async () => {
    collection = await postmanCollection(document);
    again = await postmanCollection(document);
  });

  it("is read by Postman's own library and has every row once", () => {
    const fromConverter = createRequire(createRequire(import.meta.url).resolve("openapi-to-postmanv2"));
    const { Collection } = fromConverter("postman-collection") as Postman;
    const found: string[] = [];
    new Collection(collection).forEachItem(({ request: { method, url } }) => {
      expect(url.getHost()).toBe("{{base_url}}");
      found.push(
        `${method} ${url
          .getPath()
          .replace(/\{\{\w+_id\}\}/, "{}")
          .replace(/\/(?:EURUSD|921)(?=\/|$)/, "/{}")}`,
      );
    });
    expect(found.toSorted()).toEqual(
      routes.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, "{}")}`).toSorted(),
    );
    expect(collection.info["schema"]).toMatch(/collection\/v2\.1\.0\/collection\.json$/);
  });

  it("gets its own tokens and names no variable that it does not have", () => {
    expect(collection["auth"]).toMatchObject({ type: "oauth2" });
    const text = JSON.stringify(collection);
    const known = new Set(collection.variable.map(({ key }) => key));
    const named = [...text.matchAll(/\{\{([^$}][^}]*)\}\}/g)].map(([, name = ""]) => name);
    expect([...new Set(named)].filter((name) => !known.has(name))).toEqual([]);
    expect(named).toEqual(expect.arrayContaining(["base_url", "oauth_client_id", "oauth_client_secret", "account_id"]));
    for (const { key, value } of collection.variable)
      expect([key, value]).toEqual([key, key === "base_url" ? value : ""]);
  });

  it("keeps the identifier of what a request has created for those after it", () => {
    const clients = collection.item.find(({ name }) => name === "Clients")?.item ?? [];
    const create = clients.find(({ name }) => name === "Create a client");
    expect(JSON.stringify(create?.["event"])).toContain('set(\\"client_id\\"');
  });

  it("is the same for the same document", () => {
    expect(again).toEqual(collection);
  });
});
