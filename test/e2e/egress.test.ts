import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { type DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { scanTable } from "../support/emulator/raw-table.ts";
import { someClient } from "../support/stack/api-client.ts";
import { tableClient, tableNameOf } from "../support/stack/cloud-tables.ts";
import { type Stack, startStack } from "../support/stack/stack.ts";
import { register } from "../support/stack/webhooks.ts";
import { eventually } from "../support/wait.ts";

let stack: Stack;
let listener: Server;
let port = 0;
let connections = 0;
let client: DynamoDBClient;
let tableName = "";

beforeAll(async () => {
  listener = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => listener.listen({ port: 0, host: "::", ipv6Only: false }, resolve));
  port = (listener.address() as AddressInfo).port;
  stack = await startStack({ strictEgress: true });
  tableName = tableNameOf(stack.cloud, "main");
  client = tableClient(stack.cloud);
});
afterAll(async () => {
  client?.destroy();
  await stack?.stop();
  await new Promise((resolve) => listener?.close(resolve));
});

/** This machine in every spelling that somebody might try. */
const inside = [
  "127.0.0.1",
  "2130706433",
  "0x7f000001",
  "0177.0.0.1",
  "127.1",
  "0.0.0.0",
  "[::1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[64:ff9b::7f00:1]",
  "[2002:7f00:1::]",
  "169.254.169.254",
  "localhost",
  "inside.localhost",
  "inside.localhost.",
] as const;

describe("with strict egress", () => {
  it.each(inside)("an endpoint at %s is refused when it is made", async (host) => {
    const body = { url: `https://${host}:${port}/`, event_types: ["*"] };
    const reply = await stack.api.call("POST", "/webhook_endpoints", { body });
    expect([reply.status, reply.body]).toEqual([
      422,
      expect.objectContaining({ errors: [expect.objectContaining({ pointer: "#/url" })] }),
    ]);
  });

  it("an endpoint that leads inside all the same gets nothing, and each attempt says why", async () => {
    const ids = new Map<string, string>();
    for (const host of inside) {
      const { id } = await register(stack.api, "https://hooks.example.com/");
      // As if the name had changed its meaning since it was saved.
      await lead(id, `https://${host}:${port}/`);
      ids.set(id, host);
    }
    expect((await stack.api.call("POST", "/clients", { body: someClient() })).status).toBe(201);
    const attempts = await eventually(async () => {
      const items = (await scanTable({ client, tableName })).filter(({ et }) => et === "ATTEMPT");
      return items.length >= inside.length ? items : undefined;
    }, 60_000);
    const deliveries = (await scanTable({ client, tableName })).filter(({ et }) => et === "DELIVERY");
    const hosts = deliveries.map(({ endpoint_id }) => ids.get(String(endpoint_id)));
    expect(hosts.toSorted()).toEqual(inside.toSorted());
    expect(attempts.map(({ error, http_status }) => [error, http_status])).toEqual(
      inside.map(() => ["blocked_address", null]),
    );
    expect(connections).toBe(0);
  });
});

async function lead(id: string, url: string): Promise<void> {
  await client.send(
    new UpdateItemCommand({
      TableName: tableName,
      Key: { pk: { S: `${stack.tenant_id}|WHE` }, sk: { S: id.replace("whe_", "") } },
      UpdateExpression: "SET #url = :url",
      ConditionExpression: "attribute_exists(pk)",
      ExpressionAttributeNames: { "#url": "url" },
      ExpressionAttributeValues: { ":url": { S: url } },
    }),
  );
}
