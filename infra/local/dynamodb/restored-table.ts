import { indexes, keyAttributes, slimAttributes, ttlAttribute } from "../../../shared/table/table-shape.ts";
import type { Resource } from "../template/assembly.ts";

const type = "AWS::DynamoDB::GlobalTable";
const streamPattern = /^(?<arn>arn:[\w-]+:dynamodb:[\w-]+:\d+:table\/(?<name>[\w.-]+))\/stream\//;

/**
 * The table that a stage with the setting `table_stream` uses and its template does not have, as a resource: that of
 * the streams which functions read and no table of the template has. Where the data folder has none of this name, an
 * empty one is made.
 */
export function restoredTables(resources: readonly Resource[]): Resource[] {
  const own = new Set(resources.map(({ attributes }) => attributes["StreamArn"]));
  const sources = resources.map(({ properties }) => String(properties["EventSourceArn"]));
  return [...new Set(sources)].flatMap((StreamArn) => {
    const { arn: Arn = "", name = "" } = streamPattern.exec(StreamArn)?.groups ?? {};
    const attributes = { Arn, StreamArn };
    return name === "" || own.has(StreamArn)
      ? []
      : [{ path: "table_stream", type, physical_id: name, properties: mainTable(), attributes }];
  });
}

const keySchema = (partition: string, sort: string) => [
  { AttributeName: partition, KeyType: "HASH" },
  { AttributeName: sort, KeyType: "RANGE" },
];

/** Properties of the main table (`infra/constructs/table.ts`). */
function mainTable(): Resource["properties"] {
  const all = Object.values(indexes);
  const names = [keyAttributes, ...all].flatMap(({ partition, sort }) => [partition, sort]);
  return {
    KeySchema: keySchema(keyAttributes.partition, keyAttributes.sort),
    AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
    GlobalSecondaryIndexes: all.map(({ name, partition, sort }) => ({
      IndexName: name,
      KeySchema: keySchema(partition, sort),
      Projection:
        name === indexes.due.name
          ? { ProjectionType: "KEYS_ONLY" }
          : { ProjectionType: "INCLUDE", NonKeyAttributes: [...slimAttributes] },
    })),
    StreamSpecification: { StreamViewType: "NEW_AND_OLD_IMAGES" },
    TimeToLiveSpecification: { AttributeName: ttlAttribute, Enabled: true },
  };
}
