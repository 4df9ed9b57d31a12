import type { Resource } from "../../../infra/local/template/assembly.ts";

type Properties = Record<string, unknown>;

export const behavior = {
  bucket: {
    TargetOriginId: "files",
    CachePolicyId: "658327ea-f89d-4fab-a63d-7e88639e58f6",
    ViewerProtocolPolicy: "redirect-to-https",
    Compress: true,
  },
  api: {
    PathPattern: "/v2/*",
    TargetOriginId: "api",
    CachePolicyId: "4135ea2d-6df8-44a3-9df3-4b5a84be39ad",
    OriginRequestPolicyId: "b689b0a8-53d0-40ab-baf2-68738e2966ac",
    AllowedMethods: ["GET", "HEAD", "OPTIONS", "PUT", "PATCH", "POST", "DELETE"],
  },
} as const;

export const origins = [
  {
    Id: "files",
    DomainName: "files.s3.eu-west-1.amazonaws.com",
    OriginAccessControlId: "control",
    S3OriginConfig: { OriginAccessIdentity: "" },
  },
  {
    Id: "api",
    DomainName: "api.execute-api.eu-west-1.amazonaws.com",
    CustomOriginConfig: { OriginProtocolPolicy: "https-only", OriginSSLProtocols: ["TLSv1.2"] },
    OriginCustomHeaders: [{ HeaderName: "X-Origin-Verify", HeaderValue: "secret" }],
  },
] as const;

/** A resource of a template as the runner reads it. */
export function resource(type: string, physical_id: string, properties: Properties, attributes = {}): Resource {
  return { path: `stack/${physical_id}`, type, physical_id, properties, attributes };
}

const policy = {
  SecurityHeadersConfig: {
    ContentSecurityPolicy: { ContentSecurityPolicy: "connect-src 'self' https://pool.example", Override: true },
    ContentTypeOptions: { Override: true },
    StrictTransportSecurity: { AccessControlMaxAgeSec: 60, IncludeSubdomains: true, Override: true },
  },
  CustomHeadersConfig: { Items: [{ Header: "Permissions-Policy", Value: "camera=()", Override: true }] },
};

/** A distribution with a bucket and an API, changed where a test says. */
export function template(
  changes: { config?: Properties; headers?: Properties; function?: Properties } = {},
): Resource[] {
  const edge = { FunctionConfig: { Runtime: "cloudfront-js-2.0", Comment: "" }, AutoPublish: true };
  const rewrite = "function handler(e) { if (e.request.uri === '/') e.request.uri = '/index.html'; return e.request; }";
  return [
    resource("AWS::CloudFront::Distribution", "distribution", config(changes.config ?? {}), {
      DomainName: "d111.cloudfront.net",
    }),
    resource(
      "AWS::CloudFront::Function",
      "edge",
      { ...edge, FunctionCode: rewrite, ...changes.function },
      { FunctionARN: "arn:edge" },
    ),
    resource("AWS::CloudFront::ResponseHeadersPolicy", "headers", {
      ResponseHeadersPolicyConfig: { Name: "headers", ...policy, ...changes.headers },
    }),
    resource("AWS::CloudFront::OriginAccessControl", "control", {}),
    resource("AWS::S3::Bucket", "files", {}, { RegionalDomainName: "files.s3.eu-west-1.amazonaws.com" }),
  ];
}

function config(changes: Properties): Properties {
  return {
    DistributionConfig: {
      Enabled: true,
      Origins: origins,
      CacheBehaviors: [behavior.api],
      DefaultCacheBehavior: {
        ...behavior.bucket,
        ResponseHeadersPolicyId: "headers",
        FunctionAssociations: [{ EventType: "viewer-request", FunctionARN: "arn:edge" }],
      },
      ...changes,
    },
  };
}
