import { createConfig, lintFromString } from "@redocly/openapi-core";
import spectralCore, { type RulesetDefinition } from "@stoplight/spectral-core";
import spectralRulesets from "@stoplight/spectral-rulesets";
import { describe, expect, it } from "vitest";
import { buildOpenApi, printOpenApi } from "../../shared/openapi/build.ts";
import type { OpenApi } from "../../shared/openapi/document.ts";
import { lean } from "../../shared/openapi/lean.ts";
import { routes } from "../../shared/routes/index.ts";
import { eventTypes, optInEventTypes } from "../../shared/schema/event-types.ts";

// Two linters from outside, each with all that it recommends. A rule that is switched off has its reason here.
const spectralRules: Readonly<Record<string, "off">> = {
  // Tags stand in the order in which an integrator needs them: tokens first.
  "openapi-tags-alphabetical": "off",
  // Five sixths of its time. `npm test` has Redocly and openapi.test.ts judge examples, `npm run check:long` this too.
  ...(process.env["LINTERS"] !== "all" && { "oas3-valid-media-example": "off", "oas3-valid-schema-example": "off" }),
};

async function redocly(document: OpenApi): Promise<string[]> {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source: printOpenApi(document), config });
  return problems.map(({ severity, ruleId, message, location }) => {
    return `${severity} ${ruleId} ${location[0]?.pointer ?? ""}: ${message}`;
  });
}

async function spectral(document: OpenApi): Promise<string[]> {
  const linter = new spectralCore.Spectral();
  const oas = spectralRulesets.oas as unknown as RulesetDefinition;
  linter.setRuleset({ extends: [[oas, "all"]], rules: spectralRules });
  const problems = await linter.run(JSON.parse(printOpenApi(document)));
  return problems.map(({ code, path, message }) => `${code} ${path.join("/")}: ${message}`);
}

it("Redocly finds an example that its schema refuses", { timeout: 120_000 }, async () => {
  const document = buildOpenApi({ rows: routes.filter(({ path }) => path === "/health") });
  const schema = { type: "object", properties: { status: { type: "integer" } } };
  const content = { "application/json": { schema, example: { status: "ok" } } };
  document.components.responses["Planted"] = { description: "Its example does not fit.", content };
  expect((await redocly(document)).join("\n")).toMatch(/no-invalid-media-type-examples .*Planted.*integer/);
});

describe.each([
  ["Redocly", redocly],
  ["Spectral", spectral],
] as const)("%s", { timeout: 120_000 }, (_, lint) => {
  it("finds a reference that leads nowhere and an operation without an answer", async () => {
    const broken = buildOpenApi({ rows: routes.filter(({ path }) => path === "/health") });
    const health = broken.paths["/health"]?.["get"];
    if (health === undefined) throw new Error("The document has no GET /health.");
    health["responses"] = {};
    health["parameters"] = [{ $ref: "#/components/parameters/Nothing" }];
    expect(await lint(broken)).not.toEqual([]);
  });

  it("finds no error and no warning in the document, the deliveries that an endpoint gets among it", async () => {
    const document = buildOpenApi();
    const operation = document.paths["/webhook_endpoints"]?.["post"];
    expect(Object.keys(operation?.["callbacks"] as object)).toEqual([...eventTypes, ...optInEventTypes]);
    expect(Object.keys(document.components.schemas)).toContain("TransactionCompletedEvent");
    expect(await lint(document)).toEqual([]);
    expect(await lint(lean(document))).toEqual([]);
  });
});
