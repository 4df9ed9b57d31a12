import { UsageError } from "../../../shared/runtime/command-line.ts";
import type { Template } from "../../checks/assembly.ts";
import type { StageConfig } from "../../stages.ts";
import { type Aws, AwsError, elementOf } from "./aws.ts";

/** A stack as CloudFormation describes it. */
export interface DeployedStack {
  readonly status: string;
  readonly outputs: Readonly<Record<string, string>>;
}

/** Invocations of an account that Lambda leaves to functions without a reservation. */
const unreservedConcurrency = 100;
/** The version of the bootstrap stack that the assembly needs. */
const bootstrapVersion = 6;
/**
 * The account that the credentials belong to.
 * @throws UsageError when AWS does not accept them
 */
export async function accountOf(aws: Aws): Promise<string> {
  const answer = await aws.query("sts", "GetCallerIdentity").catch((error: unknown) => {
    throw error instanceof AwsError
      ? new UsageError(`AWS does not accept the credentials (${error.code}): sign in again, then repeat the command.`)
      : error;
  });
  return elementOf(answer, "Account") ?? "";
}

/** A stack of the region; undefined when there is none. */
export async function describeStack(aws: Aws, name: string): Promise<DeployedStack | undefined> {
  const xml = await aws.query("cloudformation", "DescribeStacks", { StackName: name }).catch((error: unknown) => {
    if (error instanceof AwsError && /does not exist/.test(error.message)) return undefined;
    throw error;
  });
  if (xml === undefined) return undefined;
  const members = xml.split("<OutputKey>").slice(1);
  const outputs = members.map((part) => {
    const key = part.slice(0, part.indexOf("<"));
    return [key, elementOf(part, "OutputValue") ?? ""] as const;
  });
  return { status: elementOf(xml, "StackStatus") ?? "", outputs: Object.fromEntries(outputs) };
}

/**
 * Asserts that the account and region are bootstrapped for the CDK.
 * @throws UsageError that names the command when they are not
 */
export async function mustBeBootstrapped(aws: Aws, account: string): Promise<void> {
  const stack = await describeStack(aws, "CDKToolkit");
  const version = Number(stack?.outputs["BootstrapVersion"] ?? 0);
  if (version >= bootstrapVersion) return;
  const state = stack === undefined ? "is not bootstrapped" : `has version ${version} of the bootstrap stack`;
  throw new UsageError(
    `The account ${account} ${state} in ${aws.region}: run npx cdk bootstrap, then repeat the command.`,
  );
}

/**
 * Asserts that the certificates of a stage are where its resources find them. AWS finds a wrong one after minutes, and
 * rolls everything back.
 * @throws UsageError that names the setting at fault
 */
export function mustOwnCertificates({ api, stream, dashboard }: StageConfig, account: string, region: string): void {
  const used = [
    { setting: "api", name: api, needed: region },
    { setting: "stream", name: stream, needed: region },
    { setting: "dashboard", name: dashboard, needed: "us-east-1" },
  ];
  for (const { setting, name, needed } of used) {
    const [at, owner] = name?.certificateArn.split(":").slice(3) ?? [needed, account];
    if (at === needed && owner === account) continue;
    throw new UsageError(
      `The certificate of ${setting} is in ${at} of the account ${owner}: name one in ${needed} of ${account}.`,
    );
  }
}

/**
 * Asserts that the sender of invitations is not the one that stands for an address in the code: SES verifies no domain
 * that ends with `.example` (RFC 2606), so the creation of the user pool would fail.
 * @throws UsageError that names the setting
 */
export function mustHaveSender({ Resources = {} }: Partial<Template>): void {
  const pools = Object.values(Resources).filter(({ Type }) => Type === "AWS::Cognito::UserPool");
  const senders = pools.map(({ Properties = {} }) => Object(Properties["EmailConfiguration"]).From as unknown);
  if (!senders.some((sender) => String(sender).endsWith(".example"))) return;
  throw new UsageError(
    "The stage has no sender of invitations: name invitations_from in .stages.json, an address of a domain that SES " +
      "has verified in the account.",
  );
}

/**
 * Asserts that the account has the Lambda concurrency that a stage reserves, in addition to what other stages and
 * services have reserved. An update may give one function more before it gives another one less, so of what a function
 * has and what it gets the larger number counts.
 * @param reserved invocations that the stage reserves, by the name of the function
 * @throws UsageError that says what to request when it has less
 */
export async function mustHaveConcurrency(aws: Aws, reserved: Readonly<Record<string, number>>): Promise<void> {
  const settings = (await aws.get("lambda", "/2016-08-19/account-settings")) as {
    readonly AccountLimit: { readonly ConcurrentExecutions: number; readonly UnreservedConcurrentExecutions: number };
  };
  const { ConcurrentExecutions: all, UnreservedConcurrentExecutions: free } = settings.AccountLimit;
  let others = all - free;
  let own = 0;
  for (const [name, next] of Object.entries(reserved)) {
    const present = await concurrencyOf(aws, name);
    others -= present;
    own += Math.max(present, next);
  }
  const needed = own + others + unreservedConcurrency;
  if (all >= needed) return;
  const code = "aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384";
  throw new UsageError(
    `The account may run ${all} functions at the same time in ${aws.region}, and needs ${needed}: ${own} for the ` +
      `stage, ${others} that others have reserved, and ${unreservedConcurrency} that Lambda keeps. Request more, ` +
      `which takes hours or days:\n  ${code} --desired-value ${Math.max(1000, needed)}`,
  );
}

/** Invocations that a function has reserved now; none where there is no such function yet. */
async function concurrencyOf(aws: Aws, name: string): Promise<number> {
  const found = aws.get("lambda", `/2019-09-30/functions/${name}/concurrency`).catch((error: unknown) => {
    if (error instanceof AwsError && ["ResourceNotFoundException", "404"].includes(error.code)) return {};
    throw error;
  });
  const { ReservedConcurrentExecutions: reserved = 0 } = (await found) as {
    readonly ReservedConcurrentExecutions?: number;
  };
  return reserved;
}
