import { afterAll, expect, it } from "vitest";
import { Secrets } from "../../../infra/local/secrets/secrets.ts";
import { temporaryFolder } from "../fixture.ts";
import { resource } from "./fixture.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());

const arn = "arn:aws:secretsmanager:eu-west-1:000000000000:secret:origin-abcdef";
const secret = resource("AWS::SecretsManager::Secret", arn, { GenerateSecretString: { PasswordLength: 64 } });
const secrets = new Secrets([secret], folder.path);
const value = String(secrets.call("GetSecretValue", { SecretId: arn })["SecretString"]);
const stage = (Variables: object) => resource("AWS::ApiGateway::Stage", "v2", { Variables });

it("a reference to a secret becomes its value, wherever it stands, and all else stays as it is", () => {
  const reference = `{{resolve:secretsmanager:${arn}:SecretString:::}}`;
  const [found, same] = secrets.resolved([stage({ a: [`<${reference}>`, 1], b: null }), secret]);
  expect(value).toMatch(/^[A-Za-z0-9]{64}$/);
  expect(found?.properties).toEqual({ Variables: { a: [`<${value}>`, 1], b: null } });
  expect(same).toBe(secret);
});

it.each([
  ["a member of a secret", `{{resolve:secretsmanager:${arn}:SecretString:key::}}`],
  ["a version", `{{resolve:secretsmanager:${arn}:SecretString::AWSPREVIOUS:}}`],
  ["a parameter", "{{resolve:ssm:/name}}"],
])("a reference to %s stops the runner and is named", (_, reference) => {
  expect(() => secrets.resolved([stage({ a: reference })])).toThrow("stack/v2: the local runner does not resolve");
});
