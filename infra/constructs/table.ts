import { RemovalPolicy, Tags } from "aws-cdk-lib";
import {
  AttributeType,
  Billing,
  type CfnGlobalTable,
  ProjectionType,
  StreamViewType,
  type TablePropsV2,
  TableV2,
} from "aws-cdk-lib/aws-dynamodb";
import { Construct } from "constructs";
import { indexes, keyAttributes, slimAttributes, ttlAttribute } from "../../shared/table/table-shape.ts";
import type { StageConfig } from "../stages.ts";
import { acknowledge } from "./acknowledge.ts";
import { costTags } from "./cost.ts";

/** Tag of a table whose items are worthless after a minute, so that losing them is no loss. */
export const volatileTag = { key: "data", value: "volatile" } as const;

function text(name: string) {
  return { name, type: AttributeType.STRING };
}

/** Tag of the table of keys, of which there must be no copy: what is destroyed there is to be nowhere. */
export const keysTag = { key: "data", value: "keys" } as const;

/** A table as the rest of a stage names it. */
export interface StageTable {
  readonly tableName: string;
  readonly tableArn: string;
  readonly tableStreamArn?: string | undefined;
}

/**
 * The three tables: the business with its five indexes, what is overwritten all the time, and the keys of persons,
 * which open what the audit keeps of them.
 */
export class Tables extends Construct {
  readonly main: StageTable;
  readonly volatile: StageTable;
  readonly keys: StageTable;

  constructor(scope: Construct, id: string, config: StageConfig) {
    super(scope, id);
    const plain = {
      partitionKey: text(keyAttributes.partition),
      sortKey: text(keyAttributes.sort),
      billing: Billing.onDemand(),
    };
    const shape = { ...plain, timeToLiveAttribute: ttlAttribute, dynamoStream: StreamViewType.NEW_AND_OLD_IMAGES };
    this.main = config.tableStream === undefined ? this.makeMain(config, shape) : restoredTable(config.tableStream);
    const volatile = new TableV2(this, "Volatile", { ...shape, removalPolicy: RemovalPolicy.DESTROY });
    Tags.of(volatile).add(volatileTag.key, volatileTag.value);
    acknowledge(
      volatile,
      "AwsSolutions-DDB3",
      "Request counters and quotes are overwritten all the time and worthless a minute later; a backup has no use.",
    );
    const keys = new TableV2(this, "Keys", {
      ...plain,
      removalPolicy: config.removalPolicy,
      deletionProtection: config.deletionProtection,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: false },
    });
    Tags.of(keys).add(keysTag.key, keysTag.value);
    acknowledge(
      keys,
      "AwsSolutions-DDB3",
      "A key that is destroyed must not come back: a backup would open what was erased (ADR 0062).",
    );
    this.volatile = volatile;
    this.keys = keys;
  }

  private makeMain(config: StageConfig, shape: Pick<TablePropsV2, "partitionKey" | "sortKey">): StageTable {
    const main = new TableV2(this, "Main", {
      ...shape,
      removalPolicy: config.removalPolicy,
      deletionProtection: config.deletionProtection,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: config.pointInTimeRecovery },
    });
    addIndexes(main);
    if (config.copyRegion !== undefined) addCopy(main, config, config.copyRegion);
    if (!config.pointInTimeRecovery) {
      acknowledge(main, "AwsSolutions-DDB3", "The sandbox holds test data, which its users can make again.");
    }
    return main;
  }

  /** The name of the table of keys, for a function that uses it. */
  get keyEnvironment(): Readonly<Record<string, string>> {
    return { KEY_TABLE_NAME: this.keys.tableName };
  }
}

/** A table that `npm run restore` has made and set up, by its stream, `arn:…:table/<name>/stream/<time>`. */
function restoredTable(tableStreamArn: string): StageTable {
  const [tableArn = ""] = tableStreamArn.split("/stream/");
  return { tableArn, tableName: tableArn.slice(tableArn.indexOf("/") + 1), tableStreamArn };
}

function addIndexes(main: TableV2): void {
  const { list, state, owner, client, due } = indexes;
  for (const index of [list, state, owner, client]) {
    main.addGlobalSecondaryIndex({
      indexName: index.name,
      partitionKey: text(index.partition),
      sortKey: text(index.sort),
      projectionType: ProjectionType.INCLUDE,
      nonKeyAttributes: [...slimAttributes],
    });
  }
  main.addGlobalSecondaryIndex({
    indexName: due.name,
    partitionKey: text(due.partition),
    sortKey: text(due.sort),
    projectionType: ProjectionType.KEYS_ONLY,
  });
}

/**
 * A copy of the table in another region, which nothing of this stage reads or writes (ADR 0082). The construct adds
 * none where the region of the stack is not known before the deployment, so it is written into the resource.
 */
function addCopy(main: TableV2, config: StageConfig, region: string): void {
  const resource = main.node.defaultChild as CfnGlobalTable;
  resource.addPropertyOverride("Replicas.1", {
    Region: region,
    DeletionProtectionEnabled: config.deletionProtection,
    PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: config.pointInTimeRecovery },
    Tags: Object.entries(costTags(config)).map(([Key, Value]) => ({ Key, Value })),
  });
}
