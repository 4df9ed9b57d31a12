import { Duration, RemovalPolicy } from "aws-cdk-lib";
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket, ObjectOwnership } from "aws-cdk-lib/aws-s3";
import type { Construct } from "constructs";
import { limits } from "../../shared/limits.ts";
import { acknowledge } from "./acknowledge.ts";

/**
 * The bucket of the files of exports, which delete themselves a day after they can no longer be had. It stays when its
 * stack is deleted: a bucket with objects cannot be deleted.
 */
export function exportsBucket(scope: Construct, id: string): IBucket {
  const bucket = new Bucket(scope, id, {
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    encryption: BucketEncryption.S3_MANAGED,
    enforceSSL: true,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    removalPolicy: RemovalPolicy.RETAIN,
    lifecycleRules: [
      {
        expiration: Duration.days(limits.jobs.result_days + 1),
        abortIncompleteMultipartUploadAfter: Duration.days(1),
      },
    ],
  });
  acknowledge(
    bucket,
    "AwsSolutions-S1",
    "One function writes here; the audit says who got links to what, and reads are in CloudTrail where it is on.",
  );
  return bucket as IBucket;
}
