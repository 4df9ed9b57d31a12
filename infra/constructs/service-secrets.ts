import { Stack } from "aws-cdk-lib";
import { type PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { CfnPermission } from "aws-cdk-lib/aws-lambda";
import { CfnRotationSchedule, Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { Construct } from "constructs";
import { limits } from "../../shared/limits.ts";
import type { SecretName } from "../../shared/routes/route.ts";
import { type StageConfig, serviceName } from "../stages.ts";
import { acknowledge } from "./acknowledge.ts";
import { allow } from "./grants.ts";
import type { ServiceFunction } from "./service-function.ts";

/** The secrets of a stage, which stand in the stack itself. */
export class ServiceSecrets {
  private readonly scope: Construct;
  private readonly secrets: Readonly<Record<SecretName, Secret>>;

  constructor(scope: Construct, config: StageConfig) {
    this.scope = scope;
    this.secrets = { signing_key: signingKey(scope, config), service_key: serviceKey(scope, config) };
  }

  get arns(): Readonly<Record<SecretName, string>> {
    const { signing_key, service_key } = this.secrets;
    return { signing_key: signing_key.secretArn, service_key: service_key.secretArn };
  }

  /** The ids of secrets, in the environment of those functions alone that read them. */
  environment(names: readonly SecretName[]): Record<string, string> {
    return Object.fromEntries(names.map((name) => [`${name.toUpperCase()}_SECRET_ID`, this.secrets[name].secretArn]));
  }

  /** May replace the value of a secret, step by step as a rotation does. */
  rotationStatement(name: SecretName): PolicyStatement {
    return allow(
      "RotateSecret",
      ["secretsmanager:DescribeSecret", "secretsmanager:PutSecretValue", "secretsmanager:UpdateSecretVersionStage"],
      [this.secrets[name].secretArn],
    );
  }

  /** Lets a function rotate a secret, at once and then at the interval of key rotations. */
  rotate(name: SecretName, rotation: ServiceFunction): void {
    const secret = this.secrets[name];
    const permission = new CfnPermission(rotation, "Rotation", {
      action: "lambda:InvokeFunction",
      functionName: rotation.lambda.functionName,
      principal: new ServicePrincipal("secretsmanager.amazonaws.com").service,
      sourceArn: secret.secretArn,
      sourceAccount: Stack.of(this.scope).account,
    });
    const schedule = new CfnRotationSchedule(this.scope, `${secret.node.id}Rotation`, {
      secretId: secret.secretArn,
      rotationLambdaArn: rotation.lambda.functionArn,
      rotationRules: { automaticallyAfterDays: limits.token.key_rotation_days },
      rotateImmediatelyOnUpdate: true,
    });
    schedule.node.addDependency(permission);
  }
}

/**
 * Shown by the dashboard's distribution with each request to the API, which then believes the address that it passes
 * on. Nothing reads it at run time: the deployment resolves it into the distribution and into the API's stage.
 */
export function originSecret(scope: Construct, config: StageConfig): string {
  const secret = new Secret(scope, "OriginSecret", {
    secretName: `${serviceName}/${config.stage}/origin-secret`,
    description: "Shown by the dashboard's distribution to the API",
    generateSecretString: { passwordLength: 64, excludePunctuation: true },
    removalPolicy: config.logAndSecretRemovalPolicy,
  });
  acknowledge(
    secret,
    "AwsSolutions-SMG4",
    "It only vouches for the address of a caller with a token; a deployment with another name replaces it.",
  );
  return secret.secretValue.unsafeUnwrap();
}

/** The key pair is made by its rotation function; what is generated here only fills the place until then. */
function signingKey(scope: Construct, config: StageConfig): Secret {
  return new Secret(scope, "SigningKey", {
    secretName: `${serviceName}/${config.stage}/signing-key`,
    description: "Key pair that signs access tokens, made by its rotation",
    generateSecretString: { secretStringTemplate: "{}", generateStringKey: "placeholder" },
    removalPolicy: config.logAndSecretRemovalPolicy,
  });
}

/** Keys of other purposes are derived from it; what they seal stays readable as long as it stays the same. */
function serviceKey(scope: Construct, config: StageConfig): Secret {
  const secret = new Secret(scope, "ServiceKey", {
    secretName: `${serviceName}/${config.stage}/service-key`,
    description: "Key that keys for sealing and deriving are made from",
    generateSecretString: { passwordLength: 64, excludePunctuation: true },
    removalPolicy: config.logAndSecretRemovalPolicy,
  });
  acknowledge(
    secret,
    "AwsSolutions-SMG4",
    "A new value would invalidate all that is sealed with the old one and every refresh token: rotate it by hand.",
  );
  return secret;
}
