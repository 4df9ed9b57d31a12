import { Aws, CfnOutput, Fn } from "aws-cdk-lib";
import { CfnManagedLoginBranding, CfnUserPool, CfnUserPoolClient, CfnUserPoolDomain } from "aws-cdk-lib/aws-cognito";
import type { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import { limits } from "../../shared/limits.ts";
import { type StageConfig, serviceName } from "../stages.ts";
import { acknowledge } from "./acknowledge.ts";
import { allow } from "./grants.ts";

/** Actions of a function on a user: make and find one, shut one out and let one in again, and remove one. */
const userActions = [
  ["CreatePoolUsers", "AdminCreateUser"],
  ["ReadPoolUsers", "AdminGetUser"],
  ["DisablePoolUsers", "AdminDisableUser"],
  ["EnablePoolUsers", "AdminEnableUser"],
  ["SignPoolUsersOut", "AdminUserGlobalSignOut"],
  ["DeletePoolUsers", "AdminDeleteUser"],
] as const;

/** Input to the pool of a stage. */
export interface OperatorPoolProps {
  readonly config: StageConfig;
  /** Address of the dashboard without a slash at the end, where a sign-in comes from and returns to. */
  readonly dashboardUrl: string;
}

/** Prefix of the login page's host: no other account takes it. */
function domainOf({ stage }: StageConfig): string {
  return `${serviceName}-${stage}-${Aws.ACCOUNT_ID}`;
}

/** Address of the login page, without a slash at the end. */
function pagesOf(config: StageConfig): string {
  return `https://${domainOf(config)}.auth.${Aws.REGION}.amazoncognito.com`;
}

const identityService = `https://cognito-idp.${Aws.REGION}.${Aws.URL_SUFFIX}`;

/** Origins that a browser calls to sign in: keys and metadata of the pool, and its pages with their token endpoint. */
export function poolOrigins(config: StageConfig): readonly string[] {
  return [identityService, pagesOf(config)];
}

/**
 * The user pool that operators sign in to, with its login page. It knows who a person is and nothing of what they may
 * do: brokerage and role are in the operator's own item (ADR 0058).
 */
export class OperatorPool extends Construct {
  private readonly pool: CfnUserPool;
  private readonly client: CfnUserPoolClient;

  constructor(scope: Construct, id: string, { config, dashboardUrl }: OperatorPoolProps) {
    super(scope, id);
    const origins = [dashboardUrl, ...config.signInOrigins];
    this.pool = new CfnUserPool(this, "Pool", {
      userPoolName: `${serviceName}-${config.stage}`,
      userPoolTier: "ESSENTIALS",
      deletionProtection: config.deletionProtection ? "ACTIVE" : "INACTIVE",
      usernameAttributes: ["email"],
      usernameConfiguration: { caseSensitive: false },
      autoVerifiedAttributes: ["email"],
      userAttributeUpdateSettings: { attributesRequireVerificationBeforeUpdate: ["email"] },
      accountRecoverySetting: { recoveryMechanisms: [{ name: "verified_email", priority: 1 }] },
      adminCreateUserConfig: { allowAdminCreateUserOnly: true },
      // "OPTIONAL" would ask only those who set it up, and a pool cannot ask by role.
      mfaConfiguration: "ON",
      enabledMfas: ["SOFTWARE_TOKEN_MFA"],
      policies: { passwordPolicy },
      ...(config.mailFrom !== undefined && { emailConfiguration: sender(config.mailFrom) }),
    });
    this.pool.applyRemovalPolicy(config.removalPolicy);
    acknowledge(
      this.pool,
      "AwsSolutions-COG8",
      "Plus rates the risk of a sign-in by address and device; here every sign-in needs a second factor.",
    );
    this.client = new CfnUserPoolClient(this, "Client", {
      ...clientSettings,
      userPoolId: this.pool.ref,
      clientName: `${serviceName}-${config.stage}-dashboard`,
      // The page that completes a sign-in, and the one that a sign-out ends at.
      callbackUrLs: origins.map((origin) => `${origin}/signed-in`),
      logoutUrLs: origins.map((origin) => `${origin}/`),
    });
    const domain = new CfnUserPoolDomain(this, "Domain", {
      userPoolId: this.pool.ref,
      domain: domainOf(config),
      managedLoginVersion: 2,
    });
    // Without it the page of the domain answers that it is unavailable.
    const branding = new CfnManagedLoginBranding(this, "Branding", {
      userPoolId: this.pool.ref,
      clientId: this.client.ref,
      useCognitoProvidedValues: true,
    });
    branding.addResourceDependency(domain);
  }

  /** Environment to verify the pool's tokens; none of it reaches the pool. */
  get tokenEnvironment(): Record<string, string> {
    return {
      POOL_ISSUER: this.issuer,
      POOL_CLIENT_ID: this.client.ref,
      POOL_KEYS_URL: `${this.issuer}/.well-known/jwks.json`,
    };
  }

  /** The same, and the pool itself, for the function that keeps its users. */
  get userEnvironment(): Record<string, string> {
    return { ...this.tokenEnvironment, USER_POOL_ID: this.pool.ref };
  }

  /** May keep the users of this pool: one statement for each action, to be taken away alone. */
  userStatements(): PolicyStatement[] {
    return userActions.map(([sid, action]) => allow(sid, [`cognito-idp:${action}`], [this.pool.attrArn]));
  }

  /** Settings by which the dashboard signs a person in and out. */
  signInSettings(config: StageConfig): Record<string, string> {
    return { issuer: this.issuer, client_id: this.client.ref, logout_url: `${pagesOf(config)}/logout` };
  }

  /** Tells what an OpenID Connect client is configured with. */
  addOutputs(scope: Construct): void {
    new CfnOutput(scope, "PoolIssuer", { value: this.issuer, description: "Issuer of the operators' user pool" });
    new CfnOutput(scope, "PoolClientId", { value: this.client.ref, description: "Client id of the dashboard" });
  }

  /** Of its id alone, so that nothing else than `Ref` is asked of the resource. */
  private get issuer(): string {
    return Fn.join("", ["https://cognito-idp.", Aws.REGION, ".", Aws.URL_SUFFIX, "/", this.pool.ref]);
  }
}

const { password_length, password_history, temporary_password_days } = limits.pool;

const passwordPolicy = {
  minimumLength: password_length,
  passwordHistorySize: password_history,
  temporaryPasswordValidityDays: temporary_password_days,
  requireLowercase: true,
  requireNumbers: true,
  requireSymbols: true,
  requireUppercase: true,
};

/** A public client: a program in a browser keeps no secret, so a code is worth nothing without its verifier. */
const clientSettings = {
  generateSecret: false,
  allowedOAuthFlowsUserPoolClient: true,
  allowedOAuthFlows: ["code"],
  allowedOAuthScopes: ["openid", "email"],
  supportedIdentityProviders: ["COGNITO"],
  // Without a list a person could write every attribute of theirs, the email among them. This one nothing reads.
  writeAttributes: ["locale"],
  // One has to be named, or there are three; rotation excludes refreshing by the pool's API.
  explicitAuthFlows: ["ALLOW_USER_SRP_AUTH"],
  preventUserExistenceErrors: "ENABLED",
  enableTokenRevocation: true,
  authSessionValidity: limits.pool.sign_in_minutes,
  idTokenValidity: limits.pool.id_token_minutes,
  accessTokenValidity: limits.pool.access_token_minutes,
  refreshTokenValidity: limits.pool.refresh_token_hours,
  tokenValidityUnits: { idToken: "minutes", accessToken: "minutes", refreshToken: "hours" },
  refreshTokenRotation: { feature: "ENABLED", retryGracePeriodSeconds: 0 },
};

/** Cognito's own sender takes 50 messages a day of an account; SES sends from an identity that it has verified. */
function sender(from: string): CfnUserPool.EmailConfigurationProperty {
  const domain = /@([^>@\s]+)>?$/.exec(from)?.[1];
  if (domain === undefined) throw new Error(`"${from}" is no sender; name an address such as no-reply@example.com.`);
  return {
    emailSendingAccount: "DEVELOPER",
    from,
    sourceArn: `arn:${Aws.PARTITION}:ses:${Aws.REGION}:${Aws.ACCOUNT_ID}:identity/${domain}`,
  };
}
