import { ModelError, Properties } from "../gateway/properties.ts";
import type { Resource } from "../template/assembly.ts";
import { EdgeFunction } from "./edge-function.ts";
import { type Pairs, readHeaders } from "./response-headers.ts";

/** Where a behaviour takes its answers from. */
export type Origin =
  | { readonly kind: "bucket"; readonly bucket: string }
  | { readonly kind: "server"; readonly host: string; readonly headers: ReadonlyMap<string, string> };

/** Treatment of the requests of a path pattern. */
export interface Behavior {
  readonly matches: (path: string) => boolean;
  readonly methods: readonly string[];
  readonly origin: Origin;
  readonly headers: Pairs;
  readonly function: EdgeFunction | undefined;
}

/** A distribution of the template; the default behaviour is the last one. */
export interface DistributionModel {
  /** Address that it has on AWS, without a slash at the end. */
  readonly aws_origin: string;
  readonly behaviors: readonly Behavior[];
}

/** Policies that AWS keeps (AWS docs: managed cache policies, managed origin request policies). */
const policies = {
  cachingOptimized: "658327ea-f89d-4fab-a63d-7e88639e58f6",
  cachingDisabled: "4135ea2d-6df8-44a3-9df3-4b5a84be39ad",
  allViewerExceptHost: "b689b0a8-53d0-40ab-baf2-68738e2966ac",
} as const;

const readMethods = ["GET", "HEAD"];
const distributionType = "AWS::CloudFront::Distribution";

/**
 * The distribution of a template; undefined when it has none. Throws a ModelError that names the resource for two of
 * them, and for everything that would change an answer and is not implemented. Nothing is cached and nothing needs
 * TLS on one machine, so settings of caches, certificates and places have no effect.
 */
export function readDistribution(resources: readonly Resource[]): DistributionModel | undefined {
  const [resource, second] = resources.filter(({ type }) => type === distributionType);
  if (second !== undefined) throw new ModelError(second.path, "is a second distribution, the local runner runs one");
  if (resource === undefined) return undefined;
  const config = nested(Properties.of(resource), "DistributionConfig").only({
    implemented: ["CacheBehaviors", "DefaultCacheBehavior", "Origins", "Aliases"],
    ignored: ["Comment", "HttpVersion", "IPV6Enabled", "PriceClass", "ViewerCertificate"],
    harmless: { Enabled: true },
  });
  const origins = new Map(config.items("Origins").map((origin) => [origin.text("Id"), readOrigin(origin, resources)]));
  const [alias = resource.attributes["DomainName"]] = config.texts("Aliases");
  const behavior = (one: Properties, pattern: string) => readBehavior(one, pattern, origins, resources);
  return {
    aws_origin: `https://${alias}`,
    behaviors: [
      ...config.items("CacheBehaviors").map((one) => behavior(one, one.text("PathPattern"))),
      behavior(nested(config, "DefaultCacheBehavior"), "*"),
    ],
  };
}

function nested(properties: Properties, name: string): Properties {
  const found = properties.optionalNested(name);
  if (found === undefined) throw properties.error(name, "is missing");
  return found;
}

function readOrigin(origin: Properties, resources: readonly Resource[]): Origin {
  origin.only({
    implemented: ["Id", "DomainName", "S3OriginConfig", "OriginAccessControlId", "CustomOriginConfig"].concat([
      "OriginCustomHeaders",
    ]),
  });
  const host = origin.text("DomainName");
  const custom = origin.optionalNested("CustomOriginConfig");
  const headers = origin.items("OriginCustomHeaders").map((header) => {
    header.only({ implemented: ["HeaderName", "HeaderValue"] });
    return [header.text("HeaderName"), header.text("HeaderValue")] as const;
  });
  if (custom !== undefined) {
    custom.only({ implemented: ["OriginProtocolPolicy"], ignored: ["OriginSSLProtocols"] });
    custom.choice("OriginProtocolPolicy", ["https-only"]);
    return { kind: "server", host, headers: new Map(headers) };
  }
  const bucket = resources.find(({ type, attributes }) => {
    return type === "AWS::S3::Bucket" && attributes["RegionalDomainName"] === host;
  });
  if (bucket === undefined) throw origin.error("DomainName", `(${host}) is no bucket of the template`);
  const control = resourceOf(resources, "AWS::CloudFront::OriginAccessControl", origin.text("OriginAccessControlId"));
  if (control === undefined) throw origin.error("OriginAccessControlId", "names nothing: the bucket would refuse it");
  return { kind: "bucket", bucket: bucket.physical_id };
}

function readBehavior(
  behavior: Properties,
  pattern: string,
  origins: ReadonlyMap<string, Origin>,
  resources: readonly Resource[],
): Behavior {
  behavior.only({
    implemented: [
      ...["PathPattern", "TargetOriginId", "AllowedMethods", "CachePolicyId", "OriginRequestPolicyId"],
      ...["ResponseHeadersPolicyId", "FunctionAssociations"],
    ],
    ignored: ["CachedMethods", "Compress", "ViewerProtocolPolicy"],
  });
  const origin = origins.get(behavior.text("TargetOriginId"));
  if (origin === undefined) throw behavior.error("TargetOriginId", "names no origin");
  checkPolicies(behavior, origin);
  const methods = behavior.texts("AllowedMethods");
  const headers = behavior.optionalText("ResponseHeadersPolicyId");
  const policy = resourceOf(resources, "AWS::CloudFront::ResponseHeadersPolicy", headers);
  if (headers !== undefined && policy === undefined) throw behavior.error("ResponseHeadersPolicyId", "names no policy");
  return {
    matches: matcherOf(pattern),
    methods: methods.length === 0 ? readMethods : methods,
    origin,
    headers: policy === undefined ? [] : readHeaders(policy),
    function: readFunction(behavior, resources),
  };
}

/** A server gets all that the browser sends, uncached; a bucket is asked for a path alone. */
function checkPolicies(behavior: Properties, { kind }: Origin): void {
  const [cache, request] = [behavior.text("CachePolicyId"), behavior.optionalText("OriginRequestPolicyId")];
  const known =
    kind === "server"
      ? cache === policies.cachingDisabled && request === policies.allViewerExceptHost
      : cache === policies.cachingOptimized && request === undefined;
  if (!known) throw behavior.error("CachePolicyId", `(${cache}, ${request}) is not implemented by the local runner`);
}

function readFunction(behavior: Properties, resources: readonly Resource[]): EdgeFunction | undefined {
  const [association, second] = behavior.items("FunctionAssociations");
  if (association === undefined) return undefined;
  association.only({ implemented: ["EventType", "FunctionARN"] });
  association.choice("EventType", ["viewer-request"]);
  if (second !== undefined) throw second.error("EventType", "is a second function, the local runner runs one");
  const arn = association.text("FunctionARN");
  const found = resources.find(({ type, attributes }) => {
    return type === "AWS::CloudFront::Function" && attributes["FunctionARN"] === arn;
  });
  if (found === undefined) throw association.error("FunctionARN", "names no function");
  const properties = Properties.of(found);
  const config = nested(properties, "FunctionConfig").only({ implemented: ["Runtime"], ignored: ["Comment"] });
  config.choice("Runtime", ["cloudfront-js-2.0"]);
  if (!properties.flag("AutoPublish")) throw properties.error("AutoPublish", "is off: the function would not run");
  return new EdgeFunction(properties.text("FunctionCode"));
}

function resourceOf(resources: readonly Resource[], type: string, id: string | undefined): Resource | undefined {
  return resources.find((one) => one.type === type && one.physical_id === id);
}

/** In a path pattern `*` stands for any characters; a slash at its start is optional. */
function matcherOf(pattern: string): Behavior["matches"] {
  const source = pattern
    .replace(/^\//, "")
    .replace(/[.+?^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*");
  const expression = new RegExp(`^/?${source}$`, "s");
  return (path) => expression.test(path);
}
