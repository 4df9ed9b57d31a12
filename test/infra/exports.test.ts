import { describe, expect, test } from "vitest";
import { stages } from "../../shared/routes/route.ts";
import { at, functionOf, lines, list, ofType, only, roleOf } from "./assembly.ts";
import { synthesized } from "./stack-cases.ts";

describe("the bucket of exports", () => {
  test.each(stages)("of %s is private, encrypted, reached over TLS alone, and empties itself in 8 days", (stage) => {
    const buckets = ofType(synthesized(stage), "AWS::S3::Bucket");
    const { properties, logicalId } = only(buckets.filter((one) => one.logicalId.startsWith("Exports")));
    expect(properties).toMatchObject({
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: "AES256" } }],
      },
      OwnershipControls: { Rules: [{ ObjectOwnership: "BucketOwnerEnforced" }] },
      PublicAccessBlockConfiguration: {
        ...{ BlockPublicAcls: true, BlockPublicPolicy: true },
        ...{ IgnorePublicAcls: true, RestrictPublicBuckets: true },
      },
    });
    expect(properties["VersioningConfiguration"]).toBeUndefined();
    expect(list(at(properties["LifecycleConfiguration"], "Rules"))).toMatchObject([{ ExpirationInDays: 8 }]);
    const policies = ofType(synthesized(stage), "AWS::S3::BucketPolicy");
    const policy = only(policies.filter((one) => at(one.properties["Bucket"], "Ref") === logicalId));
    expect(list(at(policy.properties["PolicyDocument"], "Statement"))).toMatchObject([
      { Effect: "Deny", Action: "s3:*", Condition: { Bool: { "aws:SecureTransport": "false" } } },
    ]);
  });

  test.each(stages)("of %s is written by one function and read by another one", (stage) => {
    const roles = ofType(synthesized(stage), "AWS::IAM::Role");
    const found = roles.flatMap((role) => lines(role).filter((line) => / s3:.*Exports/i.test(line)));
    expect(found.map((line) => line.split(" ").slice(0, 2).join(" ")).sort()).toEqual([
      "Allow s3:GetObject",
      "Allow s3:PutObject",
    ]);
    const nameOf = (id: string) => `brokerage-${stage}-${id}`;
    expect(lines(roleOf(synthesized(stage), nameOf("run-jobs"))).join()).toContain("s3:PutObject");
    expect(lines(roleOf(synthesized(stage), nameOf("create-job-links"))).join()).toContain("s3:GetObject");
  });
});

describe("the function that writes exports", () => {
  test.each(stages)("of %s reads a tenant, and writes jobs and their announcements alone", (stage) => {
    const rights = lines(roleOf(synthesized(stage), `brokerage-${stage}-run-jobs`));
    const changes = rights.filter((line) => /dynamodb:(?:Put|Update|Delete)Item/.test(line));
    expect(changes.sort()).toEqual(
      [
        "Allow dynamodb:PutItem main brk_*#job_*",
        "Allow dynamodb:UpdateItem main brk_*|JOB brk_*|JOB|count",
        ...["UpdateItem", "DeleteItem"].map((action) => `Deny dynamodb:${action} main *|LED *|CTL|* brk_*#cli_*|REV`),
      ].sort(),
    );
    const { properties } = functionOf(synthesized(stage), `brokerage-${stage}-run-jobs`);
    expect(properties).toMatchObject({ Timeout: 600, MemorySize: 1769 });
  });
});
