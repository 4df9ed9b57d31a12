import { isDeepStrictEqual } from "node:util";
import { AssemblyError, type Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";

/** Rules of a password, and the former ones that it may not be. */
export interface PasswordPolicy {
  readonly minimum_length: number;
  readonly lowercase: boolean;
  readonly uppercase: boolean;
  readonly numbers: boolean;
  readonly symbols: boolean;
  readonly history: number;
  readonly temporary_days: number;
}

/** A user pool of the template with its only client. */
export interface PoolSettings {
  readonly id: string;
  readonly arn: string;
  /** Address that the pool's issuer has on AWS, without its path. */
  readonly aws_origin: string;
  /** Address that its pages have on AWS. */
  readonly aws_pages: string;
  readonly client_id: string;
  readonly scopes: readonly string[];
  readonly callback_urls: readonly string[];
  readonly logout_urls: readonly string[];
  readonly password: PasswordPolicy;
  readonly sign_in_seconds: number;
  readonly id_token_seconds: number;
  readonly access_token_seconds: number;
  readonly refresh_token_seconds: number;
}

type Properties = Readonly<Record<string, unknown>>;

/** The values that this runner imitates; with any other one a pool would behave in another way than it does here. */
const poolValues: Properties = {
  UserPoolTier: "ESSENTIALS",
  UsernameAttributes: ["email"],
  UsernameConfiguration: { CaseSensitive: false },
  AutoVerifiedAttributes: ["email"],
  AdminCreateUserConfig: { AllowAdminCreateUserOnly: true },
  MfaConfiguration: "ON",
  EnabledMfas: ["SOFTWARE_TOKEN_MFA"],
};
const clientValues: Properties = {
  GenerateSecret: false,
  AllowedOAuthFlowsUserPoolClient: true,
  AllowedOAuthFlows: ["code"],
  SupportedIdentityProviders: ["COGNITO"],
  PreventUserExistenceErrors: "ENABLED",
  EnableTokenRevocation: true,
  RefreshTokenRotation: { Feature: "ENABLED", RetryGracePeriodSeconds: 0 },
};

const unitSeconds: Readonly<Record<string, number>> = { seconds: 1, minutes: 60, hours: 3600, days: 86_400 };

/**
 * The user pool of a template; undefined when it has none. Throws an AssemblyError for more than one, and for what this
 * runner would not do as Cognito does it.
 */
export function readPool(resources: readonly Resource[], region: string): PoolSettings | undefined {
  const pool = only(resources, "AWS::Cognito::UserPool");
  const client = only(resources, "AWS::Cognito::UserPoolClient");
  if (pool === undefined) return undefined;
  if (client === undefined) throw new AssemblyError(pool.path, "a user pool without a client has no sign-in");
  refuseOthers(pool, poolValues);
  refuseOthers(client, clientValues);
  refuseUnavailable(resources, pool, client);
  const { properties } = client;
  const domain = only(resources, "AWS::Cognito::UserPoolDomain");
  return {
    id: pool.physical_id,
    arn: pool.attributes["Arn"] ?? "",
    aws_origin: `https://cognito-idp.${region}.amazonaws.com`,
    aws_pages: `https://${domain?.physical_id}.auth.${region}.amazoncognito.com`,
    client_id: client.physical_id,
    scopes: texts(properties["AllowedOAuthScopes"]),
    callback_urls: texts(properties["CallbackURLs"]),
    logout_urls: texts(properties["LogoutURLs"]),
    password: passwordPolicy(pool),
    sign_in_seconds: Number(properties["AuthSessionValidity"] ?? 3) * 60,
    id_token_seconds: lifetime(client, "IdToken"),
    access_token_seconds: lifetime(client, "AccessToken"),
    refresh_token_seconds: lifetime(client, "RefreshToken"),
  };
}

function only(resources: readonly Resource[], type: string): Resource | undefined {
  const [first, second] = resources.filter((one) => one.type === type);
  if (second !== undefined) throw new AssemblyError(second.path, `a template with two of ${type} is not run here`);
  return first;
}

function refuseOthers({ path, properties }: Resource, values: Properties): void {
  const other = Object.keys(values).find((name) => !isDeepStrictEqual(properties[name], values[name]));
  if (other === undefined) return;
  const [given, known] = [properties[other], values[other]].map((value) => JSON.stringify(value) ?? "nothing");
  throw new AssemblyError(path, `${other} is ${given}; the local runner knows ${known} only`);
}

/** The login page of a domain is unavailable without the new version and a branding of the client. */
function refuseUnavailable(resources: readonly Resource[], pool: Resource, client: Resource): void {
  const domain = only(resources, "AWS::Cognito::UserPoolDomain");
  const branding = only(resources, "AWS::Cognito::ManagedLoginBranding");
  const ofPool = [domain, branding].every((one) => one?.properties["UserPoolId"] === pool.physical_id);
  const ofClient = branding?.properties["ClientId"] === client.physical_id;
  if (ofPool && ofClient && domain?.properties["ManagedLoginVersion"] === 2) return;
  throw new AssemblyError(pool.path, "the pool needs a domain of managed login 2 and a branding for its client");
}

function passwordPolicy({ path, properties }: Resource): PasswordPolicy {
  const policies = properties["Policies"];
  const given = isRecord(policies) ? policies["PasswordPolicy"] : undefined;
  if (!isRecord(policies) || !isRecord(given)) throw new AssemblyError(path, "the pool has no password policy");
  const unknown = [...Object.keys(policies), ...Object.keys(given)].find((name) => !policyMembers.has(name));
  if (unknown !== undefined) throw new AssemblyError(path, `the policy ${unknown} is not known to the local runner`);
  return {
    minimum_length: Number(given["MinimumLength"] ?? 8),
    lowercase: given["RequireLowercase"] === true,
    uppercase: given["RequireUppercase"] === true,
    numbers: given["RequireNumbers"] === true,
    symbols: given["RequireSymbols"] === true,
    history: Number(given["PasswordHistorySize"] ?? 0),
    temporary_days: Number(given["TemporaryPasswordValidityDays"] ?? 7),
  };
}

const policyMembers = new Set([
  ...["PasswordPolicy", "MinimumLength", "PasswordHistorySize", "TemporaryPasswordValidityDays"],
  ...["RequireLowercase", "RequireUppercase", "RequireNumbers", "RequireSymbols"],
]);

function lifetime({ path, properties }: Resource, token: string): number {
  const units = properties["TokenValidityUnits"];
  const unit = unitSeconds[String(isRecord(units) ? units[token] : undefined)];
  const count = Number(properties[`${token}Validity`]);
  if (unit !== undefined && count > 0) return unit * count;
  throw new AssemblyError(path, `${token}Validity needs a number and a unit`);
}

function texts(value: unknown): string[] {
  return (Array.isArray(value) ? value : []).map(String);
}
