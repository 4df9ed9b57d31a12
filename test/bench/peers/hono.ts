import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { Hono } from "hono";
import { handle } from "hono/aws-lambda";

const table = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const app = new Hono();

/** The same work as `GET /clients/{id}` at its barest: count the request, read the item, answer it. */
app.get("/clients/:id", async (context) => {
  const minute = Math.floor(Date.now() / 60_000);
  const [, { Item: item }] = await Promise.all([
    table.send(
      new UpdateCommand({
        TableName: process.env["VOLATILE_TABLE_NAME"],
        Key: { pk: `hono#${process.pid}`, sk: String(minute) },
        UpdateExpression: "ADD #n :one",
        ConditionExpression: "attribute_not_exists(#n) OR #n < :most",
        ExpressionAttributeNames: { "#n": "n" },
        ExpressionAttributeValues: { ":one": 1, ":most": 1_000_000_000 },
      }),
    ),
    table.send(
      new GetCommand({
        TableName: process.env["TABLE_NAME"],
        Key: { pk: process.env["BENCH_CLIENT_PK"], sk: process.env["BENCH_CLIENT_SK"] },
        ConsistentRead: true,
      }),
    ),
  ]);
  return item === undefined ? context.json({ code: "not_found" }, 404) : context.json(item);
});

/** The peer: Hono behind its adapter for Lambda, with the SDK as it is published. */
export const handler = handle(app);
