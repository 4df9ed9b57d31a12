import { describe, expect, test } from "vitest";
import type { Stage } from "../../shared/routes/route.ts";
import { at, functionOf, lines, list, ofType, only, roleOf } from "./assembly.ts";
import { synthesized } from "./stack-cases.ts";

const stages = ["sandbox", "production"] as const;

function bucketOf(stage: Stage) {
  const buckets = ofType(synthesized(stage), "AWS::S3::Bucket");
  return only(buckets.filter(({ logicalId }) => logicalId.startsWith("Audit")));
}

describe("the bucket of the audit's sealed days", () => {
  test("locks its objects for seven years in production, for everyone, and not in the sandbox", () => {
    const { properties: locked } = bucketOf("production");
    expect(locked["ObjectLockEnabled"]).toBe(true);
    expect(locked["ObjectLockConfiguration"]).toEqual({
      ObjectLockEnabled: "Enabled",
      // Two leap days at the most.
      Rule: { DefaultRetention: { Mode: "COMPLIANCE", Days: 7 * 365 + 2 } },
    });
    expect(locked["LifecycleConfiguration"]).toBeUndefined();
    const { properties: free } = bucketOf("sandbox");
    expect(free["ObjectLockEnabled"]).toBeUndefined();
    expect(free["ObjectLockConfiguration"]).toBeUndefined();
    expect(list(at(free["LifecycleConfiguration"], "Rules"))).toMatchObject([{ ExpirationInDays: 90 }]);
  });

  test.each(stages)("of %s is private, encrypted, versioned, reached over TLS alone, and stays", (stage) => {
    const { properties, resource, logicalId } = bucketOf(stage);
    expect(properties).toMatchObject({
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: "AES256" } }],
      },
      OwnershipControls: { Rules: [{ ObjectOwnership: "BucketOwnerEnforced" }] },
      PublicAccessBlockConfiguration: {
        ...{ BlockPublicAcls: true, BlockPublicPolicy: true },
        ...{ IgnorePublicAcls: true, RestrictPublicBuckets: true },
      },
      VersioningConfiguration: { Status: "Enabled" },
    });
    expect(resource).toMatchObject({ DeletionPolicy: "Retain", UpdateReplacePolicy: "Retain" });
    const policy = only(
      ofType(synthesized(stage), "AWS::S3::BucketPolicy").filter(
        ({ properties: { Bucket: bucket } }) => at(bucket, "Ref") === logicalId,
      ),
    );
    expect(list(at(policy.properties["PolicyDocument"], "Statement"))).toMatchObject([
      {
        ...{ Effect: "Deny", Principal: { AWS: "*" }, Action: "s3:*" },
        Condition: { Bool: { "aws:SecureTransport": "false" } },
      },
      // Nothing replaces an object.
      {
        ...{ Effect: "Deny", Principal: { AWS: "*" }, Action: "s3:PutObject" },
        Resource: { "Fn::Join": ["", [{ "Fn::GetAtt": [logicalId, "Arn"] }, "/*"]] },
        Condition: { Null: { "s3:if-none-match": "true" } },
      },
    ]);
  });
});

describe("the function that seals the audit", () => {
  test.each(stages)(
    "of %s reads the audit, writes its seal and its announcements, and puts and reads objects",
    (stage) => {
      const rights = lines(roleOf(synthesized(stage), `brokerage-${stage}-seal-audit`));
      const own = rights.filter((line) => !/^Allow (logs:|xray:)/.test(line));
      const onBucket = own.filter((line) => line.includes(" s3:"));
      expect(own.filter((line) => !onBucket.includes(line)).sort()).toEqual(
        [
          "Allow dynamodb:BatchGetItem main brk_*|SEAL brk_*|SEQ",
          "Allow dynamodb:PutItem main brk_*|SEAL brk_*#aus_*",
          "Allow dynamodb:Query main GLOBAL|CLIENTID brk_*|AUD",
          "Allow dynamodb:UpdateItem main brk_*|SEAL",
          ...["UpdateItem", "DeleteItem"].map((action) => `Deny dynamodb:${action} main *|LED *|CTL|* brk_*#cli_*|REV`),
        ].sort(),
      );
      expect(onBucket.map((line) => line.split(" ")[1]).sort()).toEqual(["s3:GetObject", "s3:PutObject"]);
      expect(onBucket.filter((line) => !/referencetobrokerage\w+Audit\w+Arn.*\/\*/i.test(line))).toEqual([]);
      const others = ofType(synthesized(stage), "AWS::IAM::Role").filter(
        ({ logicalId }) => !/SealAudit/.test(logicalId),
      );
      expect(others.flatMap(lines).filter((line) => / s3:.*Audit/.test(line))).toEqual([]);
    },
  );

  test.each(stages)("of %s has five minutes and the name of the bucket", (stage) => {
    const { properties } = functionOf(synthesized(stage), `brokerage-${stage}-seal-audit`);
    expect(properties).toMatchObject({ Timeout: 300, MemorySize: 1769 });
    expect(at(properties["Environment"], "Variables", "AUDIT_BUCKET_NAME")).toBeDefined();
    const rest = ofType(synthesized(stage), "AWS::Lambda::Function").filter(
      (one) => at(one.properties["Environment"], "Variables", "AUDIT_BUCKET_NAME") !== undefined,
    );
    expect(rest).toHaveLength(1);
  });
});
