import { Duration, Names, RemovalPolicy } from "aws-cdk-lib";
import { AnyPrincipal, Effect, type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  type IBucket,
  ObjectLockRetention,
  ObjectOwnership,
} from "aws-cdk-lib/aws-s3";
import type { Construct } from "constructs";
import { limits } from "../../shared/limits.ts";
import type { StageConfig } from "../stages.ts";
import { acknowledge } from "./acknowledge.ts";

const keptDays = limits.audit.kept_seconds / 86_400;

/**
 * The bucket of the audit's sealed days. Where the stage locks them, no one can delete or replace an object before its
 * time is over, the owner of the account included (compliance mode). It stays when its stack is deleted, in the sandbox
 * too: a bucket with objects cannot be deleted, and there they delete themselves.
 */
export function auditBucket(scope: Construct, id: string, { auditLockYears: years }: StageConfig): IBucket {
  const bucket = new Bucket(scope, id, {
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    encryption: BucketEncryption.S3_MANAGED,
    enforceSSL: true,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    versioned: true,
    removalPolicy: RemovalPolicy.RETAIN,
    ...(years === undefined
      ? { lifecycleRules: [{ expiration: Duration.days(keptDays), noncurrentVersionExpiration: Duration.days(1) }] }
      : { objectLockDefaultRetention: ObjectLockRetention.compliance(Duration.days(years * 365 + leapDays(years))) }),
  });
  // For every writer, and with every right of a role: no object takes the place of another one.
  bucket.addToResourcePolicy(
    new PolicyStatement({
      effect: Effect.DENY,
      principals: [new AnyPrincipal()],
      actions: ["s3:PutObject"],
      resources: [bucket.arnForObjects("*")],
      conditions: { Null: { "s3:if-none-match": "true" } },
    }),
  );
  acknowledge(
    bucket,
    "AwsSolutions-S1",
    "One function writes here, whose days the audit's own event announces; reads are in CloudTrail where it is on.",
  );
  return bucket as IBucket;
}

/** Most leap days of so many years. */
function leapDays(years: number): number {
  return Math.ceil(years / 4);
}

/** Objects are named by brokerage, so the policy of a function can only name their bucket. */
export function acknowledgeObjects(role: IRole, bucket: IBucket): void {
  // In the nested stack the ARN is a parameter, which the library names after the bucket.
  const arn = `<referenceto${Names.nodeUniqueId((bucket.node.defaultChild ?? bucket).node)}Arn>`;
  acknowledge(role, `AwsSolutions-IAM5[Resource::${arn}/*]`, "The bucket holds one kind of objects.");
}
