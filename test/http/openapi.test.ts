import { readdirSync, readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import openapiTypescript, { astToString } from "openapi-typescript";
import { describe, expect, it } from "vitest";
import { safeParse } from "zod/v4/core";
import { limits } from "../../shared/limits.ts";
import { buildOpenApi, printOpenApi } from "../../shared/openapi/build.ts";
import { type JsonObject, narrow, type OpenApi, type Operation } from "../../shared/openapi/document.ts";
import { replyExamples } from "../../shared/openapi/examples.ts";
import { lean } from "../../shared/openapi/lean.ts";
import { operationIdOf } from "../../shared/openapi/links.ts";
import { openEnum } from "../../shared/openapi/open-enums.ts";
import { componentName, itemOf } from "../../shared/openapi/schemas.ts";
import { tagTexts } from "../../shared/openapi/texts.ts";
import { routes } from "../../shared/routes/index.ts";
import { type Route, stages } from "../../shared/routes/route.ts";
import { eventTypes, optInEventTypes } from "../../shared/schema/event-types.ts";
import { Nothing } from "../../shared/schema/oauth.ts";
import { problemKind } from "../../shared/schema/problem.ts";
import { scopes } from "../../shared/schema/scope.ts";
import { documentedFaults } from "../support/rules/description.ts";

const { rate, approvals } = limits;
const committed = readFileSync(new URL("../../shared/openapi/openapi.json", import.meta.url), "utf8");
const document = JSON.parse(committed) as OpenApi;

/** Names that a generated client already uses for itself or its language. */
const takenNames = new Set(
  (
    "ApiClient Array BigInt Boolean Client Configuration Date Dict Error Event Exception File Function HttpClient " +
    "List Map Model Number Object Option Promise Record Request Response Result Set String Symbol"
  ).split(" "),
);

function operationOf(row: Route): Operation | undefined {
  return document.paths[row.path]?.[row.method.toLowerCase()];
}

/** The value of a JSON pointer in the document, undefined when nothing is there. */
function resolve(reference: string, whole: OpenApi = document): unknown {
  const steps = reference.replace(/^#\//, "").split("/");
  return steps.reduce<unknown>((node, step) => (node as JsonObject | undefined)?.[step], whole);
}

/** A copy for the validator, which takes plain data and may change it. */
function asData(one: OpenApi): Record<string, unknown> {
  return structuredClone(one) as unknown as Record<string, unknown>;
}

function referencesIn(node: unknown): string[] {
  if (typeof node !== "object" || node === null) return [];
  return Object.entries(node).flatMap(([name, value]) =>
    name === "$ref" && typeof value === "string" ? [value] : referencesIn(value),
  );
}

/** A response of an operation with its reference followed. */
function responsesOf(operation: Operation | undefined): [status: string, response: JsonObject][] {
  const responses = Object.entries((operation?.["responses"] ?? {}) as Record<string, JsonObject>);
  return responses.map(([status, response]) => {
    const reference = response["$ref"];
    return [status, typeof reference === "string" ? (resolve(reference) as JsonObject) : response];
  });
}

function statusesOf(row: Route): string[] {
  return responsesOf(operationOf(row)).map(([status]) => status);
}

describe("the OpenAPI document", () => {
  it("is committed as the routes and schemas make it (npm run openapi)", () => {
    expect(committed).toBe(printOpenApi(buildOpenApi()));
  });

  it("is a valid OpenAPI 3.0 document according to an independent validator, whole and for each stage", async () => {
    for (const one of [document, ...stages.map((stage) => narrow(document, { stage }))]) {
      const validator = new Validator();
      const result = await validator.validate(asData(one));
      expect(result.errors ?? []).toEqual([]);
      expect(result.valid).toBe(true);
      expect(validator.version).toBe("3.0");
    }
  });

  it("fails that validator when an operation loses its responses", async () => {
    const broken = structuredClone(document);
    for (const operation of Object.values(Object.values(broken.paths)[0] ?? {})) delete operation["responses"];
    expect((await new Validator().validate(asData(broken))).valid).toBe(false);
  });

  it("has only references that resolve", () => {
    const dangling = referencesIn(document).filter((reference) => resolve(reference) === undefined);
    expect(dangling).toEqual([]);
  });

  it("declares once what several operations have alike, and no component that nothing refers to", () => {
    const used = new Set(referencesIn(document));
    const components = Object.entries(document.components).filter(([kind]) => kind !== "securitySchemes");
    const names = components.flatMap(([kind, ones]) => Object.keys(ones).map((name) => `#/components/${kind}/${name}`));
    expect(names.filter((name) => !used.has(name))).toEqual([]);
    const operations = Object.values(document.paths).flatMap((one) => Object.values(one));
    const limits = operations
      .flatMap((one) => one["parameters"] as JsonObject[])
      .filter(({ name }) => name === "limit");
    expect(limits).toEqual([]);
    // 9.1 KB for each of 86 operations when each held its own; 7.75 KB for each of 128 since they share.
    expect(Buffer.byteLength(JSON.stringify(document)) / operations.length).toBeLessThan(7800);
  });

  it("has no component schema that nothing refers to, and none whose name a generated client may own", () => {
    const used = new Set(referencesIn(document));
    const names = Object.keys(document.components.schemas);
    expect(names.filter((name) => !used.has(`#/components/schemas/${name}`))).toEqual([]);
    expect(names.filter((name) => takenNames.has(name))).toEqual([]);
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
  });

  it("gives every operation an id of its own", () => {
    const ids = routes.map(operationIdOf);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("describes the refusals that precede any operation", () => {
    for (const status of ["404", "405", "414"])
      expect(document.info["description"]).toMatch(RegExp(`answers? ${status}|${status} with`));
  });

  it("offers every scope that an operation requires, and no other", () => {
    const described = document.components.securitySchemes.oauth2.flows.clientCredentials.scopes;
    const asked = routes.flatMap(({ scope, further_scopes = [] }) => [scope, ...further_scopes]);
    expect(Object.keys(described)).toEqual(scopes.filter((scope) => asked.includes(scope)));
    expect(scopes.filter((scope) => !asked.includes(scope))).toEqual([]);
  });

  it("shows every scope that a decision requires in addition to that of the row", () => {
    // The domain decides about most; what only reads is refused by its handler.
    const sources = ["../../shared/domain/", "../../functions/"]
      .map((folder) => new URL(folder, import.meta.url))
      .flatMap((folder) =>
        readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => new URL(name, folder)),
      )
      .filter(({ pathname }) => pathname.endsWith(".ts"))
      .map((file) => readFileSync(file, "utf8"))
      .join("\n");
    const own = new Set<string | null>(routes.map(({ scope }) => scope));
    const refused = (scope: string) => sources.includes(`refuseScope("${scope}")`);
    // An export needs the scope that reads its rows.
    const ofRows = ["clients:read", "accounts:read", "transactions:read", "trading:read", "events:read"];
    const isNamed = (scope: string) => refused(scope) || ofRows.includes(scope);
    const named = scopes.filter((scope) => isNamed(scope) || (!own.has(scope) && sources.includes(`: "${scope}"`)));
    const further = new Set(routes.flatMap(({ further_scopes = [] }) => further_scopes));
    expect(scopes.filter((scope) => further.has(scope))).toEqual(named);
  });

  it("describes a conversion in terms of currencies", () => {
    const schemas = document.components.schemas as Record<string, JsonObject>;
    const { Conversion, NullableConversion, ConversionRate, Position, Trade } = schemas;
    for (const schema of [Position, Trade])
      expect(JSON.stringify(schema)).toContain(
        '"conversion":{"allOf":[{"$ref":"#/components/schemas/NullableConversion',
      );
    for (const schema of [Conversion, NullableConversion, ConversionRate]) {
      const { from, to, rate } = (schema?.["properties"] ?? {}) as Record<string, JsonObject>;
      expect([from, to].map((one) => one?.["description"])).toEqual(["Source currency.", "Target currency."]);
      expect(rate?.["description"]).toContain("of `to`");
    }
  });

  it.each(["email", "url", "href"])("gives every %s a format", (name) => {
    const found: unknown[] = [];
    JSON.stringify(document.components.schemas, (key, value) => {
      if (key === name && typeof value === "object" && value.type === "string") found.push(value.format);
      return value;
    });
    expect(found.length).toBeGreaterThan(0);
    expect(new Set(found)).toEqual(new Set([name === "email" ? "idn-email" : "uri"]));
  });
});

/** Schemas of a content, by media type. */
function schemasOf(content: unknown): [type: string, schema: unknown][] {
  return Object.entries((content ?? {}) as Record<string, JsonObject>).map(([type, { schema }]) => [type, schema]);
}

describe.each(stages)("the document for programs (GET /openapi.json) of the stage %s", (stage) => {
  const whole = narrow(document, { stage });
  const one = lean(whole);
  const operations = Object.entries(one.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ operation, full: whole.paths[path]?.[method] })),
  );

  it("is a valid document with the same schemas, without unused components", async () => {
    expect((await new Validator().validate(asData(one))).errors ?? []).toEqual([]);
    expect(one.components.schemas).toEqual(whole.components.schemas);
    const used = new Set(referencesIn(one));
    expect([...used].filter((reference) => resolve(reference, one) === undefined)).toEqual([]);
    const { securitySchemes: _schemes, schemas: _schemas, ...components } = one.components;
    const names = Object.entries(components).flatMap(([kind, ones]) =>
      Object.keys(ones).map((name) => `#/components/${kind}/${name}`),
    );
    expect(names.filter((name) => !used.has(name))).toEqual([]);
  });

  it("has each operation with its request, its success and its own refusals, and default for the others", () => {
    const everywhere = ["401", "429", "500", "502", "503", "504"];
    for (const { operation, full } of operations) {
      const { responses, callbacks: _callbacks, ...others } = operation;
      expect(full).toMatchObject(others);
      const given = full?.["responses"] as Record<string, JsonObject>;
      const own = Object.keys(given).filter(
        (status) => !everywhere.includes(status) || String(given[status]?.["$ref"]).includes("/OAuth"),
      );
      expect(Object.keys(responses as object)).toEqual([...own, "default"]);
      for (const [status, response] of responsesOf(operation).filter(([status]) => status !== "default")) {
        const full = given[status]?.["$ref"] === undefined ? given[status] : response;
        const schemas = [full, response].map((each) => schemasOf(each?.["content"]));
        expect(schemas[0]).toEqual(schemas[1]);
      }
    }
  });

  it("has one callback for all types of events", () => {
    const callbacksIn = ({ paths }: OpenApi) => paths["/webhook_endpoints"]?.["post"]?.["callbacks"] as JsonObject;
    const eventsIn = (callbacks: JsonObject) =>
      referencesIn(callbacks).filter((reference) => reference.includes("/schemas/"));
    expect(Object.keys(callbacksIn(one))).toEqual(["event"]);
    expect(eventsIn(callbacksIn(one))).toEqual(eventsIn(callbacksIn(whole)));
    expect(eventsIn(callbacksIn(one)).length).toBe(eventTypes.length + optInEventTypes.length);
  });

  it("takes types of openapi-typescript", async () => {
    const text = astToString(await openapiTypescript(structuredClone(one) as never, { silent: true }));
    expect(["createDeposit: {", "TransactionCompletedEvent: "].filter((name) => !text.includes(name))).toEqual([]);
  });

  it("has 4.8 KB for an operation, 7.8 less what people read in the reference", () => {
    expect(Buffer.byteLength(JSON.stringify(one)) / routes.length).toBeLessThan(4800);
  });
});

/** Members of a component without a text, as `Component.member`. */
function silentMembers(component: string, schema: JsonObject, path: readonly string[] = []): string[] {
  const inner = [schema["items"], schema["additionalProperties"]].filter(
    (one): one is JsonObject => typeof one === "object",
  );
  const members = Object.entries((schema["properties"] ?? {}) as Record<string, JsonObject>);
  return [
    ...inner.flatMap((one) => silentMembers(component, one, path)),
    ...members.flatMap(([name, member]) => [
      ...(member["description"] === undefined ? [[component, ...path, name].join(".")] : []),
      ...silentMembers(component, member, [...path, name]),
    ]),
  ];
}

describe("the texts of the document", () => {
  it("say of every member and parameter what it means (described() in shared/schema)", () => {
    const schemas = Object.entries(document.components.schemas);
    expect(schemas.flatMap(([name, schema]) => silentMembers(name, schema))).toEqual([]);
    const operations = Object.values(document.paths).flatMap((one) => Object.values(one));
    const own = operations.flatMap((one) => one["parameters"] as JsonObject[]);
    const parameters = [...own, ...Object.values(document.components.parameters)];
    const silent = parameters.filter((one) => one["$ref"] === undefined && one["description"] === undefined);
    expect(silent.map((one) => one["name"])).toEqual([]);
  });

  it("say of every component what it is (componentTexts in shared/openapi/texts.ts)", () => {
    const schemas = Object.entries(document.components.schemas);
    expect(schemas.filter(([, { description }]) => description === undefined).map(([name]) => name)).toEqual([]);
  });

  it("say of every operation more than its summary (description of its row)", () => {
    expect(routes.filter(({ description = "" }) => description.length < 20).map(({ id }) => id)).toEqual([]);
  });

  it("say of every tag what it holds (tagTexts in shared/openapi/texts.ts)", () => {
    expect(document.tags.filter(({ name }) => tagTexts[name] === undefined)).toEqual([]);
  });
});

describe("a claim of the document is what the code does", () => {
  const description = String(document.info["description"]);

  it("on the operations that ignore an Idempotency-Key", () => {
    const [, list = ""] = /These operations ignore the key: (.*)\.$/m.exec(description) ?? [];
    const ignoring = routes.filter(
      ({ method, named, path }) => method !== "GET" && (named === true || path.startsWith("/oauth/")),
    );
    expect(list.split(", ")).toEqual(ignoring.map(({ method, path }) => `\`${method} ${path}\``));
  });

  it("on the limits of applications and operators", () => {
    for (const per_second of [rate.burst_per_second, rate.quotes_per_second, rate.feed_per_second])
      expect(description).toContain(`${per_second} per second`);
    expect(description).toContain(`${rate.operator_per_second} requests of all kinds per second`);
  });

  it.each([
    ["quotes", ["GET /quotes/{symbol}", "GET /quotes"], "`GET /quotes`, `GET /quotes/{symbol}`"],
    [
      "feed",
      [
        "POST /feed/sources/{id}/batches",
        "POST /feed/sources/{id}/rejects/{seq}/retry",
        "POST /feed/sources/{id}/commands/take",
        "POST /feed/sources/{id}/commands/{command_id}/ack",
        "POST /feed/sources/{id}/snapshots",
      ],
      "batches, snapshots, retries of rejected items, taking and acknowledging commands",
    ],
    ["feed_quotes", ["POST /feed/sources/{id}/quotes"], "prices of a feed source"],
  ] as const)("on the operations that count against the window %s", (window, operations, words) => {
    const counted = routes.filter((row) => row.rate === window).map(({ method, path }) => `${method} ${path}`);
    expect(counted.toSorted()).toEqual(operations.toSorted());
    expect(JSON.stringify(document.components.schemas["RateLimits"])).toContain(words);
  });

  it("on how long a proposal of an owner waits", () => {
    const hours = `within ${approvals.proposal_seconds / 3600} hours`;
    for (const path of ["/settings", "/operators/{id}"])
      expect(document.paths[path]?.["patch"]?.["description"], path).toContain(hours);
  });
});

const shown = routes.filter(({ reply }) => reply !== Nothing);
const replies = [...new Set(shown.map((row) => componentName(itemOf(row.reply) ?? row.reply, row.id)))];

describe.each(replies)("the example of an answer with %s", (name) => {
  it("exists (replyExamples in shared/openapi/examples/), names every member, and fits the schema", () => {
    const example = replyExamples[name];
    expect(example, `replyExamples of shared/openapi/examples/ needs ${name}`).toBeDefined();
    expect(documentedFaults(name, example)).toEqual([]);
    const schema = document.components.schemas[name] as { properties?: object };
    const members = Object.keys(schema.properties ?? example ?? {});
    expect(members.filter((member) => !Object.hasOwn(example as object, member))).toEqual([]);
  });
});

describe.each(routes.map((row) => [`${row.method} ${row.path}`, row] as const))("%s in the document", (_, row) => {
  const operation = operationOf(row);

  it("has its id and its security", () => {
    expect(operation?.operationId).toBe(operationIdOf(row));
    const open = row.path.startsWith("/oauth/") ? [{ client: [] }, {}] : [];
    const own = row.scope === null ? [] : [row.scope];
    const further = (row.further_scopes ?? []).map((scope) => ({ oauth2: [...own, scope] }));
    expect(operation?.["security"]).toEqual(row.auth === "none" ? open : [{ oauth2: own }, ...further]);
  });

  it("has a schema for every answer that has a body", () => {
    for (const [status, response] of responsesOf(operation)) {
      if (status === "304" || (row.reply === Nothing && status === String(row.status))) continue;
      const { "text/csv": table, ...contents } = (response["content"] ?? {}) as Record<string, { schema?: JsonObject }>;
      expect(table !== undefined, status).toBe(row.table === true && status === String(row.status));
      expect(Object.keys(contents).length, status).toBeGreaterThan(0);
      for (const { schema } of Object.values(contents)) expect(Object.keys(schema ?? {}), status).toEqual(["$ref"]);
    }
  });

  it("lists every refusal of the row under the status it has", () => {
    const responses = new Map(responsesOf(operation));
    for (const code of row.refusals) {
      expect(responses.get(String(problemKind(code).status))?.["x-codes"], code).toContain(code);
    }
    for (const status of ["400", "429", "500", "502", "504"]) expect(statusesOf(row)).toContain(status);
    if (row.auth === "token") expect(statusesOf(row)).toEqual(expect.arrayContaining(["401", "403", "503"]));
    if (row.path.includes("{")) expect(statusesOf(row)).toContain("404");
    if (row.body !== undefined && row.auth === "token")
      expect(statusesOf(row)).toEqual(expect.arrayContaining(["413", "415", "422"]));
  });
});

/** The open lists of values below the components, each with its place as a reference into them. */
function openListsIn(node: unknown, place = ""): (readonly [place: string, words: readonly string[]])[] {
  if (typeof node !== "object" || node === null) return [];
  const words = (node as JsonObject)[openEnum];
  const own = Array.isArray(words) ? [[place.slice(1), words as string[]] as const] : [];
  const inner = Object.entries(node).filter(([step]) => step !== openEnum && !step.startsWith("example"));
  return [...own, ...inner.flatMap(([step, value]) => openListsIn(value, `${place}/${step.replaceAll("/", "~1")}`))];
}

const oneOfThem = expect.stringContaining("must be equal to one of the allowed values");

describe("a value that an answer's member does not have by the document", () => {
  it("fails the tests, misspelt, in every open list of values, and each value passes", () => {
    const open = openListsIn(document.components.schemas);
    expect(open.length).toBeGreaterThan(100);
    for (const [place, words] of open) {
      for (const word of words) expect([place, word, documentedFaults(place, word)]).toEqual([place, word, []]);
      expect([place, documentedFaults(place, `${words[0]}x`)]).toEqual([place, [oneOfThem]]);
    }
  });

  it("fails the tests where null is allowed, and null passes", () => {
    const transaction = replyExamples["Transaction"] as JsonObject;
    expect(documentedFaults("Transaction", { ...transaction, outcome: null })).toEqual([]);
    expect(documentedFaults("Transaction", { ...transaction, outcome: "unknwon" })).not.toEqual([]);
  });
});

const rowsWithBody = routes.flatMap((row) =>
  row.body === undefined ? [] : [[`${row.method} ${row.path}`, row, row.body] as const],
);

describe.each(rowsWithBody)("the example of %s", (_, row, body) => {
  it("is accepted by the schema of its row", () => {
    expect(row.example).toBeDefined();
    expect(safeParse(body, row.example).error?.issues ?? []).toEqual([]);
  });

  it("is shown under every media type that the row takes", () => {
    const requestBody = operationOf(row)?.["requestBody"] as
      | { content: Record<string, { example: unknown }> }
      | undefined;
    const examples = Object.values(requestBody?.content ?? {}).map((media) => media.example);
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) expect(example).toEqual(row.example);
  });
});

describe("the document of one stage", () => {
  it("has the operations of that stage only, and the given address as its only server", () => {
    const serverUrl = "http://127.0.0.1:3000/v2";
    for (const stage of stages) {
      const narrowed = buildOpenApi({ stage, serverUrl });
      const ids = Object.values(narrowed.paths).flatMap((one) => Object.values(one).map((each) => each.operationId));
      const expected = routes.filter((row) => row.stages.includes(stage)).map(operationIdOf);
      expect(ids.toSorted()).toEqual(expected.toSorted());
      expect(narrowed.servers.map((one) => one.url)).toEqual([serverUrl]);
      const { tokenUrl } = narrowed.components.securitySchemes.oauth2.flows.clientCredentials;
      expect(tokenUrl).toBe(`${serverUrl}/oauth/token`);
    }
  });

  it("leaves out an operation that is marked for the other stage", () => {
    const marked = structuredClone(document);
    const health = marked.paths["/health"]?.["get"];
    if (health === undefined) throw new Error("The document has no GET /health.");
    health["x-stages"] = ["sandbox"];
    expect(narrow(marked, { stage: "sandbox" }).paths["/health"]).toBeDefined();
    expect(narrow(marked, { stage: "production" }).paths["/health"]).toBeUndefined();
    expect(marked.paths["/health"]).toBeDefined();
  });
});
