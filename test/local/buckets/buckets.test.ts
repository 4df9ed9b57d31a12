import { createHash } from "node:crypto";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ServiceException,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readAssembly } from "../../../infra/local/template/assembly.ts";
import {
  callerCode,
  startTestCloud,
  type TestCloud,
  type TestStack,
  temporaryFolder,
  writeAssembly,
} from "../fixture.ts";

const arnOf = (name: string, rest = "") => ({ "Fn::Join": ["", [{ "Fn::GetAtt": [name, "Arn"] }, rest]] });
const allow = (actions: string[], resource: unknown) => ({ Effect: "Allow", Action: actions, Resource: resource });
const policyOf = (name: string, ...statements: object[]) => ({
  Type: "AWS::S3::BucketPolicy",
  Properties: { Bucket: { Ref: name }, PolicyDocument: { Version: "2012-10-17", Statement: statements } },
});
const locked = {
  ObjectLockEnabled: true,
  VersioningConfiguration: { Status: "Enabled" },
  ObjectLockConfiguration: {
    ObjectLockEnabled: "Enabled",
    Rule: { DefaultRetention: { Mode: "COMPLIANCE", Years: 7 } },
  },
};
const edge = {
  Effect: "Allow",
  Principal: { Service: "cloudfront.amazonaws.com" },
  Action: "s3:GetObject",
  Resource: arnOf("Plain", "/*"),
  Condition: { StringEquals: { "AWS:SourceArn": "arn:aws:cloudfront::000000000000:distribution/E1" } },
};
const overTls = {
  Effect: "Deny",
  Principal: { AWS: "*" },
  Action: "s3:*",
  Resource: [arnOf("Plain"), arnOf("Plain", "/*")],
  Condition: { Bool: { "aws:SecureTransport": "false" } },
};
const newAlone = {
  ...{ Effect: "Deny", Principal: { AWS: "*" }, Action: "s3:PutObject" },
  Resource: arnOf("Once", "/*"),
  Condition: { Null: { "s3:if-none-match": "true" } },
};
const stack: TestStack = {
  resources: {
    Once: { Type: "AWS::S3::Bucket", Properties: { BucketName: "once" } },
    OncePolicy: policyOf("Once", newAlone),
    Plain: { Type: "AWS::S3::Bucket", Properties: { BucketName: "plain" } },
    Locked: { Type: "AWS::S3::Bucket", Properties: { BucketName: "locked", ...locked } },
    Shut: { Type: "AWS::S3::Bucket", Properties: { BucketName: "shut" } },
    PlainPolicy: policyOf("Plain", overTls, edge),
    ShutPolicy: policyOf("Shut", { ...overTls, Resource: arnOf("Shut", "/*"), Condition: {} }),
  },
  functions: {
    writer: {
      code: callerCode,
      statements: [
        allow(["s3:PutObject", "s3:GetObject"], arnOf("Plain", "/mine/*")),
        allow(["s3:PutObject"], [arnOf("Locked", "/*"), arnOf("Shut", "/*"), arnOf("Once", "/*")]),
        allow(["s3:ListBucket"], arnOf("Locked")),
      ],
    },
  },
};

let test: TestCloud;
beforeAll(async () => {
  test = await startTestCloud(stack);
});
afterAll(() => test.stop());

/** Sends what the published SDK makes, as a function or as the operator. */
function client(accessKeyId: string): S3Client {
  const credentials = { accessKeyId, secretAccessKey: "local" };
  return new S3Client({ endpoint: test.cloud.endpoint, region: test.cloud.region, credentials, maxAttempts: 1 });
}
const writer = () => client(test.cloud.accessKeyOf("arn:aws:lambda:eu-west-1:000000000000:function:writer"));
const operator = () => client(test.cloud.accessKeyOf("operator"));

/** `200`, or the status and name of the error that the SDK reads. */
async function outcome(sent: Promise<object>): Promise<string> {
  return sent.then(
    () => "200",
    (error: S3ServiceException) => `${error.$metadata.httpStatusCode} ${error.name}`,
  );
}

const put = (Bucket: string, Key: string, more: object = {}) =>
  writer().send(new PutObjectCommand({ Bucket, Key, Body: "content", ...more }));
const get = (Bucket: string, Key: string) => writer().send(new GetObjectCommand({ Bucket, Key }));

describe("buckets of the template", () => {
  it("keep the bytes and the type of an object from run to run", async () => {
    const Body = Uint8Array.from({ length: 256 }, (_, at) => at);
    await put("plain", "mine/a b/ä.gz", { Body, ContentType: "application/gzip" });
    await test.restart();
    const { Body: found, ContentType } = await get("plain", "mine/a b/ä.gz");
    expect(await found?.transformToByteArray()).toEqual(Body);
    expect(ContentType).toBe("application/gzip");
  });

  it("allow a role what its policies and that of the bucket allow, and hide what is not there", async () => {
    expect(await outcome(put("plain", "other/x"))).toBe("403 AccessDenied");
    expect(await outcome(put("shut", "x"))).toBe("403 AccessDenied");
    // Without the right to list, S3 does not tell that an object is missing.
    expect(await outcome(get("plain", "mine/missing"))).toBe("403 AccessDenied");
    expect(await outcome(operator().send(new GetObjectCommand({ Bucket: "plain", Key: "missing" })))).toBe(
      "404 NoSuchKey",
    );
    expect(await outcome(operator().send(new GetObjectCommand({ Bucket: "nowhere", Key: "x" })))).toBe(
      "404 NoSuchBucket",
    );
    expect(await outcome(client("AKIAUNKNOWN").send(new GetObjectCommand({ Bucket: "plain", Key: "x" })))).toMatch(
      /^403 /,
    );
  });

  it("write an object that is to be new once, however many try at a time", async () => {
    const tries = Array.from({ length: 5 }, () => outcome(put("plain", "mine/once", { IfNoneMatch: "*" })));
    const expected = ["200", ...Array.from({ length: 4 }, () => "412 PreconditionFailed")];
    expect((await Promise.all(tries)).toSorted()).toEqual(expected);
  });

  it("whose policy asks for it take an object only if it must be new", async () => {
    expect(await outcome(put("once", "a"))).toBe("403 AccessDenied");
    expect(await outcome(put("once", "a", { IfNoneMatch: "*" }))).toBe("200");
    expect(await outcome(put("once", "a"))).toBe("403 AccessDenied");
    expect(await outcome(put("once", "a", { IfNoneMatch: "*" }))).toBe("412 PreconditionFailed");
  });

  it("list keys in order, page after page", async () => {
    const keys = ["a/1", "a/2", "a/3", "b/1"];
    for (const key of keys) await put("locked", key);
    const list = (more: object) =>
      writer().send(new ListObjectsV2Command({ Bucket: "locked", Prefix: "a/", MaxKeys: 2, ...more }));
    const first = await list({});
    const second = await list({ ContinuationToken: first.NextContinuationToken });
    expect([first, second].map(({ Contents }) => Contents?.map(({ Key }) => Key))).toEqual([["a/1", "a/2"], ["a/3"]]);
    expect(second.IsTruncated).toBe(false);
  });

  it("refuse an object that is not what its checksums say, and one without a checksum under a lock", async () => {
    const key = test.cloud.accessKeyOf("operator");
    const digest = createHash("sha256").update("other").digest();
    expect(await outcome(put("plain", "mine/x", { ChecksumSHA256: digest.toString("base64") }))).toBe("400 BadDigest");
    const plain = await fetch(`${test.cloud.endpoint}/locked/x`, {
      method: "PUT",
      headers: {
        authorization: `AWS4-HMAC-SHA256 Credential=${key}/20200101/eu-west-1/s3/aws4_request`,
        "x-amz-content-sha256": digest.toString("hex"),
      },
      body: "other",
    });
    expect([plain.status, await plain.text()]).toEqual([400, expect.stringContaining("<Code>InvalidRequest</Code>")]);
  });

  it("answer 501 to what they do not imitate", async () => {
    const object = { Bucket: "locked", Key: "a/1" };
    expect(await outcome(writer().send(new DeleteObjectCommand(object)))).toMatch(/^501 /);
    expect(await outcome(writer().send(new PutObjectCommand({ ...object, Body: "", Tagging: "a=b" })))).toMatch(
      /^501 /,
    );
    expect(await outcome(writer().send(new GetObjectCommand({ ...object, Range: "bytes=0-1" })))).toMatch(/^501 /);
    expect(await outcome(put("plain", `mine/${"a".repeat(201)}`))).toMatch(/^501 /);
    expect(await outcome(operator().send(new ListBucketsCommand({})))).toMatch(/^501 /);
    const version = new GetObjectCommand({ Bucket: "locked", Key: "a/1", VersionId: "1" });
    expect(await outcome(operator().send(version))).toMatch(/^501 /);
  });
});

describe("a template with a bucket that is not understood stops the runner", () => {
  it.each<[string, Record<string, unknown>, TestStack["resources"]]>([
    ["test/Plain: the property WebsiteConfiguration of AWS::S3::Bucket", { WebsiteConfiguration: {} }, {}],
    ["test/Plain: a bucket locks objects only where ObjectLockEnabled", { ...locked, ObjectLockEnabled: false }, {}],
    [
      "test/Policy: the bucket https://sqs.eu-west-1.amazonaws.com/000000000000/elsewhere is not in",
      {},
      { Policy: policyOf("Elsewhere") },
    ],
    [
      "test/Policy: a policy asks for aws:sourceip",
      {},
      { Policy: policyOf("Plain", { ...overTls, Condition: { IpAddress: { "aws:sourceip": "1.2.3.4" } } }) },
    ],
  ])("%s", async (message, properties, resources) => {
    const Elsewhere = { Type: "AWS::SQS::Queue", Properties: { QueueName: "elsewhere" } };
    const Plain = { Type: "AWS::S3::Bucket", Properties: properties };
    await expect(startTestCloud({ resources: { Plain, Elsewhere, ...resources } })).rejects.toThrow(message);
  });

  it("a bucket without a name gets one that S3 takes", () => {
    const folder = temporaryFolder();
    writeAssembly(folder.path, { resources: { ["AuditLog".repeat(12)]: { Type: "AWS::S3::Bucket" } } });
    const [bucket] = readAssembly(folder.path).resources;
    folder.remove();
    expect(bucket?.physical_id).toMatch(/^test-(?:auditlog)+a?[a-z0-9-]+$/);
    expect(bucket?.physical_id.length).toBeLessThanOrEqual(63);
  });
});
