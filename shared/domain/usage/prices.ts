/** Regions that prices are stated for. */
export const regions = ["us-east-1", "eu-west-1"] as const;
/** One of them. */
export type Region = (typeof regions)[number];

/** Date on which the prices were last compared with what is named under `confirmed`. */
export const pricesReadOn = "2026-11-23";

interface Price {
  /** Name of the service in the public price list, see `priceListOf`. */
  readonly service: string;
  /** US dollars before taxes, of the first tier where there are tiers, in the order of `regions`. */
  readonly usd: readonly [number, number];
  /**
   * Regions whose price was found in a second public text that quotes the price list. The list itself could not be
   * read where this file was written, so a price of another region is from the list as it was known before.
   */
  readonly confirmed: readonly Region[];
}

const both = regions;
const us = ["us-east-1"] as const;
const ireland = ["eu-west-1"] as const;

/** Address of the public price list of a service. */
export function priceListOf(service: string, region: Region): string {
  return `https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/${service}/current/${region}/index.json`;
}

/**
 * Unit prices of everything that the service uses. The one place where prices stand; who changes one changes the date.
 * No free tier is subtracted: another workload of the account may use it.
 */
export const priceList = {
  /** API Gateway, REST, first 333 million requests of a month. */
  gateway_per_million_requests: { service: "AmazonApiGateway", usd: [3.5, 3.5], confirmed: us },
  /** API Gateway, WebSocket: messages of either side by each 32 KB, first 1,000 million of a month. */
  stream_per_million_messages: { service: "AmazonApiGateway", usd: [1, 1.14], confirmed: us },
  stream_per_million_minutes: { service: "AmazonApiGateway", usd: [0.25, 0.285], confirmed: us },
  /** DynamoDB on demand: request units; an indexed or transactional write counts several. */
  dynamodb_per_million_write_units: { service: "AmazonDynamoDB", usd: [0.625, 0.705], confirmed: both },
  dynamodb_per_million_read_units: { service: "AmazonDynamoDB", usd: [0.125, 0.1415], confirmed: both },
  dynamodb_per_gigabyte_month: { service: "AmazonDynamoDB", usd: [0.25, 0.283], confirmed: both },
  /** Point-in-time recovery. */
  dynamodb_recovery_per_gigabyte_month: { service: "AmazonDynamoDB", usd: [0.2, 0.2264], confirmed: us },
  /** S3 Standard, first 50 TB of a month. */
  s3_per_gigabyte_month: { service: "AmazonS3", usd: [0.023, 0.023], confirmed: us },
  lambda_per_million_requests: { service: "AWSLambda", usd: [0.2, 0.2], confirmed: us },
  /** On arm64; what an environment takes to start is billed as well. */
  lambda_per_gigabyte_second: { service: "AWSLambda", usd: [0.0000133334, 0.0000133334], confirmed: us },
  sqs_per_million_requests: { service: "AWSQueueService", usd: [0.4, 0.4], confirmed: us },
  /** Calls about messages that name a group in a standard queue: a fair queue, 0.10 more. */
  sqs_fair_per_million_requests: { service: "AWSQueueService", usd: [0.5, 0.5], confirmed: us },
  sqs_fifo_per_million_requests: { service: "AWSQueueService", usd: [0.5, 0.5], confirmed: us },
  schedule_per_million_invocations: { service: "AWSEvents", usd: [1, 1], confirmed: us },
  /** CloudWatch: an alarm is charged for each metric that it calculates with. */
  alarm_per_metric_month: { service: "AmazonCloudWatch", usd: [0.1, 0.1], confirmed: both },
  dashboard_month: { service: "AmazonCloudWatch", usd: [3, 3], confirmed: us },
  /** A metric that functions write to their logs, in a month in which they do. */
  metric_month: { service: "AmazonCloudWatch", usd: [0.3, 0.3], confirmed: us },
  logs_per_gigabyte: { service: "AmazonCloudWatch", usd: [0.5, 0.57], confirmed: both },
  logs_per_gigabyte_month: { service: "AmazonCloudWatch", usd: [0.03, 0.03], confirmed: ireland },
  traces_per_million: { service: "AWSXRay", usd: [5, 5], confirmed: us },
  /** To the internet, first 10 TB of a month. */
  transfer_per_gigabyte: { service: "AWSDataTransfer", usd: [0.09, 0.09], confirmed: us },
  secret_month: { service: "AWSSecretsManager", usd: [0.4, 0.4], confirmed: us },
  secret_per_million_calls: { service: "AWSSecretsManager", usd: [5, 5], confirmed: us },
  /** A key of one's own; those that AWS keeps for the services are free. */
  key_month: { service: "awskms", usd: [1, 1], confirmed: us },
  /** CloudFront, HTTPS, to North America and to Europe. */
  cdn_per_million_requests: { service: "AmazonCloudFront", usd: [1, 1.2], confirmed: us },
  cdn_per_gigabyte: { service: "AmazonCloudFront", usd: [0.085, 0.085], confirmed: both },
  cdn_function_per_million: { service: "AmazonCloudFront", usd: [0.1, 0.1], confirmed: us },
  /** Cognito, Essentials. */
  operator_month: { service: "AmazonCognito", usd: [0.015, 0.015], confirmed: both },
} as const satisfies Readonly<Record<string, Price>>;

/** The name of a price; it says per what. */
export type PriceName = keyof typeof priceList;

/** US dollars of one region by the names of the prices. */
export type Prices = Readonly<Record<PriceName, number>>;

/** The prices of a region. */
export function pricesOf(region: Region): Prices {
  const place = regions.indexOf(region);
  const entries = Object.entries(priceList).map(([name, { usd }]) => [name, usd[place]]);
  return Object.fromEntries(entries) as Prices;
}
