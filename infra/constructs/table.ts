import { RemovalPolicy, Tags } from "aws-cdk-lib";
import { AttributeType, BillingMode, ProjectionType, StreamViewType, Table } from "aws-cdk-lib/aws-dynamodb";
import { Construct } from "constructs";
import { indexes, keyAttributes, slimAttributes, ttlAttribute } from "../../shared/table/table-shape.ts";
import type { StageConfig } from "../stages.ts";
import { acknowledge } from "./acknowledge.ts";

/** Tag of a table whose items are worthless after a minute, so that losing them is no loss. */
export const volatileTag = { key: "data", value: "volatile" } as const;

function text(name: string) {
  return { name, type: AttributeType.STRING };
}

/** Tag of the table of keys, of which there must be no copy: what is destroyed there is to be nowhere. */
export const keysTag = { key: "data", value: "keys" } as const;

/**
 * The three tables: the business with its five indexes, what is overwritten all the time, and the keys of persons,
 * which open what the audit keeps of them.
 */
export class Tables extends Construct {
  readonly main: Table;
  readonly volatile: Table;
  readonly keys: Table;

  constructor(scope: Construct, id: string, config: StageConfig) {
    super(scope, id);
    const plain = {
      partitionKey: text(keyAttributes.partition),
      sortKey: text(keyAttributes.sort),
      billingMode: BillingMode.PAY_PER_REQUEST,
    };
    const shape = { ...plain, timeToLiveAttribute: ttlAttribute, stream: StreamViewType.NEW_AND_OLD_IMAGES };
    this.main = new Table(this, "Main", {
      ...shape,
      removalPolicy: config.removalPolicy,
      deletionProtection: config.deletionProtection,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: config.pointInTimeRecovery },
    });
    this.addIndexes();
    this.volatile = new Table(this, "Volatile", { ...shape, removalPolicy: RemovalPolicy.DESTROY });
    Tags.of(this.volatile).add(volatileTag.key, volatileTag.value);
    acknowledge(
      this.volatile,
      "AwsSolutions-DDB3",
      "Request counters and quotes are overwritten all the time and worthless a minute later; a backup has no use.",
    );
    this.keys = new Table(this, "Keys", {
      ...plain,
      removalPolicy: config.removalPolicy,
      deletionProtection: config.deletionProtection,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: false },
    });
    Tags.of(this.keys).add(keysTag.key, keysTag.value);
    acknowledge(
      this.keys,
      "AwsSolutions-DDB3",
      "A key that is destroyed must not come back: a backup would open what was erased (ADR 0062).",
    );
    if (!config.pointInTimeRecovery) {
      acknowledge(this.main, "AwsSolutions-DDB3", "The sandbox holds test data, which its users can make again.");
    }
  }

  /** The name of the table of keys, for a function that uses it. */
  get keyEnvironment(): Readonly<Record<string, string>> {
    return { KEY_TABLE_NAME: this.keys.tableName };
  }

  private addIndexes(): void {
    const { list, state, owner, client, due } = indexes;
    for (const index of [list, state, owner, client]) {
      this.main.addGlobalSecondaryIndex({
        indexName: index.name,
        partitionKey: text(index.partition),
        sortKey: text(index.sort),
        projectionType: ProjectionType.INCLUDE,
        nonKeyAttributes: [...slimAttributes],
      });
    }
    this.main.addGlobalSecondaryIndex({
      indexName: due.name,
      partitionKey: text(due.partition),
      sortKey: text(due.sort),
      projectionType: ProjectionType.KEYS_ONLY,
    });
  }
}
