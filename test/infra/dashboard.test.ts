import { describe, expect, test } from "vitest";
import type { Stage } from "../../shared/routes/route.ts";
import { at, list, ofType, only } from "./assembly.ts";
import { certificateIn, namedStage } from "./deployment/named-stage.ts";
import { synthesized } from "./stack-cases.ts";

const stages = ["sandbox", "production"] as const;
const resource = (stage: Stage, type: string) => only(ofType(synthesized(stage), type));
/** The only one of its type that belongs to the dashboard. */
const own = (stage: Stage, type: string) =>
  only(ofType(synthesized(stage), type).filter(({ template }) => template.includes("Dashboard")));
const distributionOf = (stage: Stage) =>
  at(resource(stage, "AWS::CloudFront::Distribution").properties["DistributionConfig"]);

/** A value as the deployment would join it, with the names of what it refers to. */
function joined(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll(/\{"(?:Ref|Fn::Sub)":"([^"]*)"\}/g, '"<$1>"')
    .replaceAll(/\{"Fn::GetAtt":\["([^"]*)","([^"]*)"\]\}/g, '"<$1.$2>"')
    .replaceAll(
      /\{"Fn::Join":\["",\[((?:"[^"]*",?)*)\]\]\}/g,
      (_, parts: string) => `"${parts.replaceAll(/^"|"$|","/g, "")}"`,
    )
    .replaceAll(/^"|"$/g, "");
}

describe("the dashboard", () => {
  test("has a bucket that its distribution alone reads, over TLS, and that production keeps", () => {
    for (const stage of stages) {
      const bucket = own(stage, "AWS::S3::Bucket");
      expect(bucket.properties["PublicAccessBlockConfiguration"]).toEqual({
        ...{ BlockPublicAcls: true, BlockPublicPolicy: true, IgnorePublicAcls: true, RestrictPublicBuckets: true },
      });
      const statements = list(at(own(stage, "AWS::S3::BucketPolicy").properties["PolicyDocument"], "Statement"));
      const [tls, read] = statements;
      expect(statements).toHaveLength(2);
      expect(tls).toMatchObject({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } });
      expect(read).toMatchObject({ Action: "s3:GetObject", Principal: { Service: "cloudfront.amazonaws.com" } });
      const { logicalId } = resource(stage, "AWS::CloudFront::Distribution");
      expect(joined(at(read, "Condition", "StringEquals", "AWS:SourceArn"))).toContain(`:distribution/<${logicalId}>`);
      const policy = stage === "production" ? "Retain" : "Delete";
      expect(bucket.resource).toMatchObject({ DeletionPolicy: policy, UpdateReplacePolicy: policy });
    }
  });

  test("answers its own addresses by its page and hands /v2/* to the API, uncached and whole", () => {
    const distribution = distributionOf("production");
    const [api, ...others] = list(at(distribution, "CacheBehaviors"));
    expect(others).toEqual([]);
    expect(api).toMatchObject({
      PathPattern: "/v2/*",
      AllowedMethods: ["GET", "HEAD", "OPTIONS", "PUT", "PATCH", "POST", "DELETE"],
      // Managed policies of AWS: CachingDisabled and AllViewerExceptHostHeader.
      CachePolicyId: "4135ea2d-6df8-44a3-9df3-4b5a84be39ad",
      OriginRequestPolicyId: "b689b0a8-53d0-40ab-baf2-68738e2966ac",
      ViewerProtocolPolicy: "https-only",
    });
    expect(api).not.toHaveProperty("ResponseHeadersPolicyId");
    const page = at(distribution, "DefaultCacheBehavior");
    expect(page).toMatchObject({ ViewerProtocolPolicy: "redirect-to-https" });
    expect(page).not.toHaveProperty("AllowedMethods");
    expect(at(page, "FunctionAssociations", 0, "EventType")).toBe("viewer-request");
    expect(distribution).not.toHaveProperty("CustomErrorResponses");
    expect(distribution).toMatchObject({ Enabled: true, IPV6Enabled: true, PriceClass: "PriceClass_100" });
  });

  test("lets a page load its own files and call its own host, the user pool and the stream, and nothing else", () => {
    for (const stage of stages) {
      const { properties } = resource(stage, "AWS::CloudFront::ResponseHeadersPolicy");
      const security = at(properties["ResponseHeadersPolicyConfig"], "SecurityHeadersConfig");
      const stated = joined(at(security, "ContentSecurityPolicy", "ContentSecurityPolicy"));
      // The id of the WebSocket API is an output of one nested stack and a parameter of this one.
      const policy = stated.replace(/<referenceto\w+StreamBaseApi\w+Ref>/, "<Stream>");
      expect(policy).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' " +
          "https://cognito-idp.<AWS::Region>.<AWS::URLSuffix> " +
          `https://brokerage-${stage}-<AWS::AccountId>.auth.<AWS::Region>.amazoncognito.com ` +
          "wss://<Stream>.execute-api.<AWS::Region>.<AWS::URLSuffix>; " +
          "img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
          "require-trusted-types-for 'script'",
      );
      expect(security).toMatchObject({
        StrictTransportSecurity: { AccessControlMaxAgeSec: 31_536_000, IncludeSubdomains: true, Override: true },
        ContentTypeOptions: { Override: true },
        ReferrerPolicy: { ReferrerPolicy: "no-referrer", Override: true },
        FrameOptions: { FrameOption: "DENY", Override: true },
      });
      const custom = list(at(properties["ResponseHeadersPolicyConfig"], "CustomHeadersConfig", "Items"));
      expect(custom.map((item) => at(item, "Header"))).toContain("Permissions-Policy");
    }
  });

  test("shows the API a generated secret, which no template and no function's configuration holds", () => {
    for (const stage of stages) {
      const { properties } = resource(stage, "AWS::ApiGateway::Stage");
      const known = joined(at(properties["Variables"], "origin_secret"));
      expect(known).toMatch(/^\{\{resolve:secretsmanager:<OriginSecret[0-9A-F]{8}>:SecretString:::\}\}$/);
      const [api] = list(at(distributionOf(stage), "Origins")).filter((one) => at(one, "CustomOriginConfig"));
      const [header, ...others] = list(at(api, "OriginCustomHeaders"));
      expect(others).toEqual([]);
      expect(at(header, "HeaderName")).toBe("X-Origin-Verify");
      expect(joined(at(header, "HeaderValue"))).toMatch(
        /^\{\{resolve:secretsmanager:<.*OriginSecret.*>:SecretString:::\}\}$/,
      );
      expect(at(api, "CustomOriginConfig")).toEqual({
        OriginProtocolPolicy: "https-only",
        OriginSSLProtocols: ["TLSv1.2"],
      });
      const variables = ofType(synthesized(stage), "AWS::Lambda::Function").map((one) => one.properties["Environment"]);
      expect(JSON.stringify(variables)).not.toContain("OriginSecret");
    }
  });

  test("tells its application what it needs for a sign-in, and never lets a browser keep an old page", () => {
    const [assets, page, ...others] = ofType(synthesized("sandbox"), "Custom::CDKBucketDeployment");
    expect(others).toEqual([]);
    const cached = { "cache-control": "public, max-age=31536000, immutable" };
    expect(assets?.properties).toMatchObject({
      DestinationBucketKeyPrefix: "assets",
      SystemMetadata: cached,
      Prune: false,
    });
    expect(page?.properties).toMatchObject({ SystemMetadata: { "cache-control": "no-cache" }, Prune: false });
    expect(page?.resource.DependsOn).toContain(assets?.logicalId);
    const values = joined(page?.properties["SourceMarkers"]);
    expect(values).toContain("https://cognito-idp.<AWS::Region>.<AWS::URLSuffix>/<");
    expect(values).toContain(".execute-api.<AWS::Region>.<AWS::URLSuffix>/v2");
  });

  test("has its files copied by a function that may do nothing else", () => {
    const copier = only(
      ofType(synthesized("production"), "AWS::Lambda::Function").filter(({ properties }) => {
        return properties["FunctionName"] === undefined;
      }),
    );
    const roleId = at(copier.properties["Role"], "Fn::GetAtt", 0);
    const role = only(
      synthesized("production").resources.filter(({ template, logicalId }) => {
        return template === copier.template && logicalId === roleId;
      }),
    );
    const statements = list(at(list(role.properties["Policies"])[0], "PolicyDocument", "Statement"));
    expect(statements.flatMap((statement) => list(at(statement, "Action")))).toEqual([
      ...["s3:GetObject", "s3:ListBucket", "s3:GetBucketTagging", "s3:PutObject", "s3:DeleteObject"],
      ...["logs:CreateLogStream", "logs:PutLogEvents"],
    ]);
    expect(role.properties).not.toHaveProperty("ManagedPolicyArns");
    expect(synthesized("production").resources.filter(({ type }) => type === "AWS::IAM::Policy")).toEqual([]);
  });

  test("has a name of its own where the stage names one and its certificate, and then TLS 1.2 at least", async () => {
    const [distribution, ...others] = ofType(await namedStage(), "AWS::CloudFront::Distribution");
    expect(others).toEqual([]);
    expect(distribution?.properties["DistributionConfig"]).toMatchObject({
      Aliases: ["dashboard.example.com"],
      ViewerCertificate: {
        AcmCertificateArn: certificateIn("us-east-1"),
        MinimumProtocolVersion: "TLSv1.2_2021",
      },
    });
  });
});
