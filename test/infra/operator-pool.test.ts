import { describe, expect, test } from "vitest";
import type { NamedTemplate } from "../../infra/checks/assembly.ts";
import { checkTemplates } from "../../infra/checks/index.ts";
import { routes } from "../../shared/routes/index.ts";
import type { Stage } from "../../shared/routes/route.ts";
import { at, functionOf, ofType, only, roleOf } from "./assembly.ts";
import { synthesized } from "./stack-cases.ts";

const resource = (stage: Stage, name: string) => only(ofType(synthesized(stage), `AWS::Cognito::${name}`));

describe("the user pool", () => {
  test("takes invited users only, each with a second factor and a long password, in both stages", () => {
    for (const stage of ["sandbox", "production"] as const) {
      const { properties } = resource(stage, "UserPool");
      expect(properties).toMatchObject({
        UserPoolTier: "ESSENTIALS",
        AdminCreateUserConfig: { AllowAdminCreateUserOnly: true },
        MfaConfiguration: "ON",
        EnabledMfas: ["SOFTWARE_TOKEN_MFA"],
        UsernameAttributes: ["email"],
        UsernameConfiguration: { CaseSensitive: false },
      });
      expect(at(properties["Policies"], "PasswordPolicy")).toMatchObject({
        MinimumLength: 14,
        RequireLowercase: true,
        RequireNumbers: true,
        RequireSymbols: true,
        RequireUppercase: true,
      });
    }
  });

  test("has a public client with codes alone, short tokens, and refresh tokens that rotate within a day's work", () => {
    const { properties } = resource("production", "UserPoolClient");
    expect(properties).toMatchObject({
      GenerateSecret: false,
      AllowedOAuthFlows: ["code"],
      AllowedOAuthScopes: ["openid", "email"],
      CallbackURLs: [expect.anything()],
      LogoutURLs: [expect.anything()],
      IdTokenValidity: 5,
      AccessTokenValidity: 5,
      RefreshTokenValidity: 12,
      TokenValidityUnits: { IdToken: "minutes", AccessToken: "minutes", RefreshToken: "hours" },
      RefreshTokenRotation: { Feature: "ENABLED", RetryGracePeriodSeconds: 0 },
      PreventUserExistenceErrors: "ENABLED",
      WriteAttributes: ["locale"],
    });
    const [callback, logout] = ["CallbackURLs", "LogoutURLs"].map((name) => JSON.stringify(properties[name]));
    const dashboard = /^\[\{"Fn::Join":\["",\["https:\/\/",\{"Fn::GetAtt":\["Dashboard\w+","[\w.]+DomainName"\]\},/;
    expect([callback, logout]).toEqual([expect.stringMatching(dashboard), expect.stringMatching(dashboard)]);
    expect(callback).toContain('"/signed-in"]]}]');
    expect(logout).toContain('"/"]]}]');
    const local = resource("sandbox", "UserPoolClient").properties["CallbackURLs"];
    expect(local).toContain("http://127.0.0.1:3000/signed-in");
    expect(local).toContain("http://127.0.0.1:3003/signed-in");
  });

  test("has a login page at a name that no other account takes, which is unavailable without its branding", () => {
    const domain = resource("sandbox", "UserPoolDomain").properties;
    expect(domain["ManagedLoginVersion"]).toBe(2);
    expect(JSON.stringify(domain["Domain"])).toBe('{"Fn::Join":["",["brokerage-sandbox-",{"Ref":"AWS::AccountId"}]]}');
    const { UserPoolId: pool, ClientId: client } = resource("sandbox", "ManagedLoginBranding").properties;
    expect(at(pool, "Ref")).toBe(resource("sandbox", "UserPool").logicalId);
    expect(at(client, "Ref")).toBe(resource("sandbox", "UserPoolClient").logicalId);
  });

  test("is kept and mails from SES in production, and leaves nothing behind in the sandbox", () => {
    const [kept, left] = [resource("production", "UserPool"), resource("sandbox", "UserPool")];
    expect(kept.resource).toMatchObject({ DeletionPolicy: "Retain", UpdateReplacePolicy: "Retain" });
    expect(kept.properties).toMatchObject({ DeletionProtection: "ACTIVE" });
    const mail = kept.properties["EmailConfiguration"];
    expect(mail).toMatchObject({ EmailSendingAccount: "DEVELOPER", From: "no-reply@brokerage.example" });
    expect(JSON.stringify(at(mail, "SourceArn"))).toContain(":identity/brokerage.example");
    expect(left.resource).toMatchObject({ DeletionPolicy: "Delete" });
    expect(left.properties).toMatchObject({ DeletionProtection: "INACTIVE" });
    expect(left.properties).not.toHaveProperty("EmailConfiguration");
  });

  test("is known to the exchange of tokens by issuer, client and keys, and to no role behind a route", () => {
    const { properties } = functionOf(synthesized("sandbox"), "brokerage-sandbox-create-token");
    const variables = at(properties["Environment"], "Variables");
    const issuer = JSON.stringify(at(variables, "POOL_ISSUER"));
    expect(issuer).toMatch(/^\{"Fn::Join":\["",\["https:\/\/cognito-idp\.",\{"Ref":"AWS::Region"\},"\.",/);
    expect(JSON.stringify(at(variables, "POOL_KEYS_URL"))).toContain("/.well-known/jwks.json");
    for (const { id } of routes.filter(({ stages }) => stages.includes("sandbox"))) {
      const role = roleOf(synthesized("sandbox"), `brokerage-sandbox-${id.replaceAll("_", "-")}`);
      expect(JSON.stringify(role.properties)).not.toContain("cognito-idp");
    }
  });
});

type Planted = Record<string, Record<string, unknown>>;

/** The findings of a stage after a change of one resource, which is planted in a copy. */
function findingsAfter(stage: Stage, logicalId: string, plant: (found: Planted[string], all: Planted) => void) {
  const templates = structuredClone(synthesized(stage).templates) as NamedTemplate[];
  const all = templates.map(({ template }) => template.Resources as unknown as Planted);
  const found = all.find((one) => one[logicalId] !== undefined) ?? {};
  plant(found[logicalId] ?? {}, found);
  const findings = checkTemplates(templates, { stage, routes, leadingKeys: true });
  return findings.filter((one) => one.logicalId === logicalId).map(({ rule, message }) => `${rule}: ${message}`);
}

function plantRight(stage: Stage, name: string, Resource: unknown) {
  const { logicalId } = roleOf(synthesized(stage), `brokerage-${stage}-${name}`);
  return findingsAfter(stage, logicalId, ({ Properties }) => {
    const { Policies } = Properties as { Policies: { PolicyDocument: { Statement: object[] } }[] };
    Policies[0]?.PolicyDocument.Statement.push({ Effect: "Allow", Action: "cognito-idp:AdminGetUser", Resource });
  });
}

describe("a defect is found:", () => {
  const pool = () => resource("production", "UserPool").logicalId;

  test("a function behind a route that may read a user, and any function that may in every pool", () => {
    const ofPool = { "Fn::GetAtt": [pool(), "Arn"] };
    expect(plantRight("production", "get-me", ofPool)).toEqual([
      "pool-grant: A function behind a route may cognito-idp:AdminGetUser.",
    ]);
    expect(plantRight("production", "provision", ofPool)).toEqual([]);
    expect(plantRight("production", "provision", "*")).toEqual([
      "pool-grant: cognito-idp:AdminGetUser on more than the pool.",
    ]);
  });

  test("a pool of production that is not kept, not protected, or mails by Cognito", () => {
    const drop = (change: (found: Planted[string]) => void) => findingsAfter("production", pool(), change);
    expect(drop((found) => Object.assign(found, { DeletionPolicy: "Delete" }))).toEqual([
      "pool-retention: The user pool is not retained.",
    ]);
    const properties = (found: Planted[string]) => found["Properties"] as Record<string, unknown>;
    expect(drop((found) => Object.assign(properties(found), { DeletionProtection: "INACTIVE" }))).toEqual([
      "pool-retention: The user pool has no deletion protection.",
    ]);
    expect(drop((found) => delete properties(found)["EmailConfiguration"])).toEqual([
      "pool-retention: The user pool sends mail by Cognito, 50 a day.",
    ]);
  });

  test("a pool that the sandbox would leave behind", () => {
    const { logicalId } = resource("sandbox", "UserPool");
    const findings = findingsAfter("sandbox", logicalId, (found) => Object.assign(found, { DeletionPolicy: "Retain" }));
    expect(findings).toEqual(["pool-retention: The sandbox would leave the user pool."]);
  });
});
