import { join } from "node:path";
import { Aws, DefaultStackSynthesizer, Duration, Names, NestedStack, RemovalPolicy, Stack } from "aws-cdk-lib";
import { PolicyDocument, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { type ILogGroup, LogGroup } from "aws-cdk-lib/aws-logs";
import { Bucket, type IBucket } from "aws-cdk-lib/aws-s3";
import { BucketDeployment, CacheControl, Source } from "aws-cdk-lib/aws-s3-deployment";
import type { Construct } from "constructs";
import { acknowledge } from "../constructs/acknowledge.ts";
import { allow } from "../constructs/grants.ts";
import type { StageConfig } from "../stages.ts";

/** Files for the bucket of the dashboard. */
export interface DashboardFilesProps {
  readonly config: StageConfig;
  readonly bucket: IBucket;
  /** Folder of the built application. */
  readonly directory: string;
  /** Settings of the stage for the application, served as `config.json`. */
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * The files of the dashboard in their bucket, copied by the library's own function. A stack of its own, since the
 * settings name the client of the pool, which names the address of the distribution.
 */
export class DashboardFiles extends NestedStack {
  constructor(scope: Construct, id: string, { config, bucket, directory, settings }: DashboardFilesProps) {
    super(scope, id, { description: "Dashboard: copies its files into the bucket" });
    const logGroup: ILogGroup = new LogGroup(this, "Logs", {
      retention: config.logRetention,
      removalPolicy: config.logAndSecretRemovalPolicy,
    });
    const common = {
      // By its name: the library would tag the bucket, and for the tag leave its files when the stack is deleted.
      destinationBucket: Bucket.fromBucketName(this, "Files", bucket.bucketName),
      // A page that was loaded before a deployment still loads the parts that it knows.
      prune: false,
      retainOnDelete: config.removalPolicy === RemovalPolicy.RETAIN,
      role: this.makeRole(bucket, logGroup).withoutPolicyUpdates(),
      logGroup,
    };
    const assets = new BucketDeployment(this, "Assets", {
      ...common,
      sources: [Source.asset(join(directory, "assets"), { exclude: ["*.map"] })],
      destinationKeyPrefix: "assets",
      cacheControl: [CacheControl.setPublic(), CacheControl.maxAge(Duration.days(365)), CacheControl.immutable()],
    });
    const page = new BucketDeployment(this, "Page", {
      ...common,
      sources: [
        Source.asset(directory, { exclude: ["assets", "assets/**"] }),
        Source.jsonData("config.json", settings),
      ],
      cacheControl: [CacheControl.noCache()],
    });
    // The page names the newest assets, so they are there first.
    page.node.addDependency(assets);
    this.acknowledgeFindings();
  }

  /** Exactly what the function does; left to itself, the library would grant it patterns of actions. */
  private makeRole(bucket: IBucket, logs: ILogGroup): Role {
    const { bootstrapQualifier = DefaultStackSynthesizer.DEFAULT_QUALIFIER } = Stack.of(
      this.node.scope ?? this,
    ).synthesizer;
    const assets = `arn:${Aws.PARTITION}:s3:::cdk-${bootstrapQualifier}-assets-${Aws.ACCOUNT_ID}-${Aws.REGION}/*`;
    const role = new Role(this, "CopierRole", {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
      inlinePolicies: {
        copy: new PolicyDocument({
          statements: [
            allow("ReadBuiltFiles", ["s3:GetObject"], [assets]),
            allow("CompareFiles", ["s3:ListBucket", "s3:GetBucketTagging"], [bucket.bucketArn]),
            allow("WriteFiles", ["s3:PutObject", "s3:DeleteObject"], [bucket.arnForObjects("*")]),
            allow("Log", ["logs:CreateLogStream", "logs:PutLogEvents"], [logs.logGroupArn]),
          ],
        }),
      },
    });
    acknowledgeFiles(role, bucket, bootstrapQualifier);
    return role;
  }

  private acknowledgeFindings(): void {
    acknowledge(this, "AwsSolutions-L1", "The library chooses the runtime of its own function.");
    acknowledge(this, "CloudFormation-Validate::W2509", "The parameters are names of a bucket and a client.");
  }
}

/** Files are named by their content, so a policy can only name the buckets that they are in. */
function acknowledgeFiles(role: Role, bucket: IBucket, qualifier: string): void {
  const { nestedStackResource } = Stack.of(bucket);
  const [from, file] = [nestedStackResource, bucket.node.defaultChild].map(
    (one) => one && Names.nodeUniqueId(one.node),
  );
  // In this stack the ARN is a parameter, which the library names after the output that it comes from.
  const files = `<referenceto${from}Outputs${file}Arn>/*`;
  const assets = `arn:<AWS::Partition>:s3:::cdk-${qualifier}-assets-<AWS::AccountId>-<AWS::Region>/*`;
  for (const resource of [files, assets]) {
    acknowledge(
      role,
      `AwsSolutions-IAM5[Resource::${resource}]`,
      "Names of files are made of their content; only the deployment runs this function.",
    );
  }
}
