import { join } from "node:path";
import { CfnOutput, Duration, NestedStack, Stack } from "aws-cdk-lib";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import {
  AllowedMethods,
  CachePolicy,
  Distribution,
  Function as EdgeFunction,
  FunctionCode,
  FunctionEventType,
  FunctionRuntime,
  HeadersFrameOption,
  HeadersReferrerPolicy,
  HttpVersion,
  OriginRequestPolicy,
  PriceClass,
  ResponseHeadersPolicy,
  SecurityPolicyProtocol,
  ViewerProtocolPolicy,
} from "aws-cdk-lib/aws-cloudfront";
import { HttpOrigin, S3BucketOrigin } from "aws-cdk-lib/aws-cloudfront-origins";
import { BlockPublicAccess, Bucket, type IBucket } from "aws-cdk-lib/aws-s3";
import type { Construct } from "constructs";
import { originHeader } from "../../shared/runtime/origin.ts";
import { acknowledge } from "../constructs/acknowledge.ts";
import { apiVersion, type StageConfig } from "../stages.ts";

/** Input to the distribution of a stage. */
export interface DashboardProps {
  readonly config: StageConfig;
  /** Host of the API on AWS, which takes requests without a domain name of its own too. */
  readonly apiHost: string;
  /** Value of the header by which the API knows the distribution. */
  readonly originSecret: string;
  /** Other origins that the application calls: the pool's pages and its identity service. */
  readonly connectsTo: readonly string[];
}

const year = Duration.days(365);

/**
 * The dashboard at one address: its files from a private bucket, and the API under its own path. So the browser needs
 * no leave to call another host, and a page of another site gets none (ADR 0061).
 */
export class DashboardStack extends NestedStack {
  private readonly config: StageConfig;
  readonly bucket: IBucket;
  /** Address of the dashboard without a slash at the end. */
  readonly url: string;

  constructor(scope: Construct, id: string, props: DashboardProps) {
    super(scope, id, { description: "Dashboard: its files, and their distribution" });
    const { config } = props;
    this.config = config;
    this.bucket = this.makeBucket(config);
    const distribution = this.makeDistribution(props);
    this.url = `https://${config.dashboard?.domain ?? distribution.distributionDomainName}`;
    this.addTarget(distribution);
    acknowledge(this, "CloudFormation-Validate::W2509", "The parameter is the ARN of the secret, not its value.");
  }

  /** With a name of its own the address says nothing of the distribution that the name has to point to. */
  private addTarget({ distributionDomainName: value }: Distribution): void {
    if (this.config.dashboard === undefined) return;
    const description = "Where the name of the dashboard has to point to";
    new CfnOutput(Stack.of(this.node.scope ?? this), "DashboardDomainTarget", { value, description });
  }

  private makeBucket(config: StageConfig): IBucket {
    const bucket = new Bucket(this, "Files", {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      removalPolicy: config.removalPolicy,
    });
    acknowledge(
      bucket,
      "AwsSolutions-S1",
      "The files are the same for everybody and hold no data; only the distribution reads them.",
    );
    return bucket as IBucket;
  }

  private makeDistribution(props: DashboardProps): Distribution {
    const { config, apiHost, originSecret, connectsTo } = props;
    const { dashboard } = config;
    const distribution = new Distribution(this, "Distribution", {
      comment: `Dashboard, ${config.stage}`,
      httpVersion: HttpVersion.HTTP2_AND_3,
      priceClass: PriceClass.PRICE_CLASS_100,
      enableIpv6: true,
      ...(dashboard !== undefined && {
        domainNames: [dashboard.domain],
        minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
        certificate: Certificate.fromCertificateArn(this, "Certificate", dashboard.certificateArn),
      }),
      defaultBehavior: {
        origin: S3BucketOrigin.withOriginAccessControl(this.bucket),
        viewerProtocolPolicy: ViewerProtocolPolicy.REDIRECT_TO_HTTPS,
        cachePolicy: CachePolicy.CACHING_OPTIMIZED,
        responseHeadersPolicy: this.makeHeaders(connectsTo),
        functionAssociations: [{ eventType: FunctionEventType.VIEWER_REQUEST, function: this.makeFunction() }],
      },
      additionalBehaviors: {
        [`/${apiVersion}/*`]: {
          origin: new HttpOrigin(apiHost, { customHeaders: { [originHeader]: originSecret } }),
          viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
          allowedMethods: AllowedMethods.ALLOW_ALL,
          cachePolicy: CachePolicy.CACHING_DISABLED,
          originRequestPolicy: OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
          compress: false,
        },
      },
    });
    acknowledgeDistribution(distribution, dashboard !== undefined);
    return distribution;
  }

  private makeFunction(): EdgeFunction {
    return new EdgeFunction(this, "SinglePage", {
      comment: "Answers every address of the application by its page",
      runtime: FunctionRuntime.JS_2_0,
      code: FunctionCode.fromFile({ filePath: join(import.meta.dirname, "..", "edge", "single-page.js") }),
    });
  }

  private makeHeaders(connectsTo: readonly string[]): ResponseHeadersPolicy {
    const override = true;
    return new ResponseHeadersPolicy(this, "Headers", {
      comment: "What a page of the dashboard may do",
      securityHeadersBehavior: {
        contentSecurityPolicy: { contentSecurityPolicy: contentSecurityPolicy(connectsTo), override },
        strictTransportSecurity: { accessControlMaxAge: year, includeSubdomains: true, override },
        contentTypeOptions: { override },
        referrerPolicy: { referrerPolicy: HeadersReferrerPolicy.NO_REFERRER, override },
        frameOptions: { frameOption: HeadersFrameOption.DENY, override },
      },
      customHeadersBehavior: {
        customHeaders: [
          { header: "Permissions-Policy", value: permissionsPolicy, override },
          { header: "Cross-Origin-Opener-Policy", value: "same-origin", override },
          { header: "Cross-Origin-Resource-Policy", value: "same-origin", override },
        ],
      },
    });
  }
}

/** Origins that the browser may load and call. No script, style or frame comes from elsewhere or stands in a page. */
function contentSecurityPolicy(connectsTo: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["connect-src 'self'", ...connectsTo].join(" "),
    "img-src 'self' data:",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ");
}

/** The dashboard uses no device and no payment; it copies secrets and curl commands by a click. */
const permissionsPolicy = "camera=(), geolocation=(), microphone=(), payment=(), usb=(), clipboard-write=(self)";

function acknowledgeDistribution(distribution: Distribution, hasDomain: boolean): void {
  const reasons: Readonly<Record<string, string>> = {
    CFR1: "Operators travel: an address abroad is for allowed_ips and the second factor to judge, not for a map.",
    CFR2: "Files are public and the API throttles and authenticates; a web ACL would cost more than both at rest.",
    CFR3: "The files hold no data, and each request to the API is in the API's own access log and audit.",
    ...(!hasDomain && { CFR4: "Without a domain the certificate is CloudFront's own, whose protocols it chooses." }),
  };
  for (const [rule, reason] of Object.entries(reasons)) acknowledge(distribution, `AwsSolutions-${rule}`, reason);
}
