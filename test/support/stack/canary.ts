import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DescribeTableCommand, type DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { readStream, scanTable } from "../emulator/raw-table.ts";
import { tableClient } from "./cloud-tables.ts";
import type { Stack } from "./stack.ts";

/** Values that must not be found anywhere in clear, by what they are. */
export type Canaries = ReadonlyMap<string, string>;

/** Places of a running stack that hold what somebody else may read one day, each as one text. */
async function placesOf(stack: Stack): Promise<Map<string, string>> {
  const client = tableClient(stack.cloud);
  const places = new Map<string, string>();
  try {
    for (const [path, tableName] of Object.entries(stack.cloud.tables)) {
      const emulator = { client, endpoint: stack.cloud.dynamodbEndpoint, tableName };
      const streamArn = await streamOf(emulator);
      places.set(`table ${path}`, JSON.stringify(await scanTable(emulator, tableName)));
      // The table of keys has none: what it held must be gone with its item.
      if (streamArn === undefined) continue;
      places.set(`stream of ${path}`, JSON.stringify(await readStream({ ...emulator, streamArn })));
    }
  } finally {
    client.destroy();
  }
  const logs = join(stack.dataDir, "logs");
  for (const file of readdirSync(logs, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())) {
    places.set(`log ${file.name}`, readFileSync(join(file.parentPath, file.name), "utf8"));
  }
  const queues = readdirSync(stack.dataDir, { withFileTypes: true }).filter(({ name }) => name.startsWith("sqs"));
  for (const { name } of queues.filter((entry) => entry.isFile())) {
    places.set(`queues ${name}`, readFileSync(join(stack.dataDir, name), "latin1"));
  }
  return places;
}

async function streamOf({ client, tableName }: { client: DynamoDBClient; tableName: string }) {
  const { Table: table } = await client.send(new DescribeTableCommand({ TableName: tableName }));
  return table?.LatestStreamArn;
}

/** A text as it might be written down: itself, in base64 at every offset, in hexadecimal, as a URL carries it. */
function disguises(text: string): string[] {
  const shifted = [0, 1, 2].map((offset) => {
    const coded = Buffer.from(" ".repeat(offset) + text).toString("base64");
    // The first and the last characters depend on what stands around the text.
    return coded.slice(offset === 0 ? 0 : 4, -4);
  });
  const url = shifted.map((coded) => coded.replaceAll("+", "-").replaceAll("/", "_"));
  return [...new Set([text, encodeURIComponent(text), Buffer.from(text).toString("hex"), ...shifted, ...url])];
}

/**
 * Searches the tables, their streams, the queues and the logs of a running stack for secrets that were handed out in
 * its run. Returns a sentence for each that is there, in clear or thinly disguised; never the secret itself.
 */
export async function findCanaries(stack: Stack, canaries: Canaries): Promise<string[]> {
  const places = await placesOf(stack);
  return [...places].flatMap(([place, text]) =>
    [...canaries]
      .filter(([, secret]) => disguises(secret).some((each) => text.includes(each)))
      .map(([what]) => `${what} is in the ${place}`),
  );
}

/** How much there was to search, so that a test can tell that it searched anything. */
export async function searchedPlaces(stack: Stack): Promise<ReadonlyMap<string, number>> {
  return new Map([...(await placesOf(stack))].map(([place, text]) => [place, text.length]));
}

/** Secrets that the stack keeps for itself: the signing key, the service key and the API keys of the gateway. */
export function ownSecrets({ dataDir }: Stack): Map<string, string> {
  const found = new Map<string, string>();
  const { secrets } = read<{ secrets: { name: string; versions: { secret_string?: string }[] }[] }>("secrets.json");
  for (const { name, versions } of secrets) {
    for (const [number, { secret_string: value = "" }] of versions.entries()) {
      const { pem } = value.startsWith("{") ? (JSON.parse(value) as { pem?: string }) : { pem: undefined };
      // The lines of a key in the middle say most: those at its ends are the same in every key.
      const secret = pem === undefined ? value : (pem.split("\n")[1] ?? "").slice(-32);
      if (!value.includes("placeholder")) found.set(`version ${number} of ${name}`, secret);
    }
  }
  const { keys } = read<{ keys: { name: string; value: string }[] }>("api-keys.json");
  for (const { name, value } of keys) found.set(`the API key of ${name}`, value);
  return found;

  function read<T>(file: string): T {
    return JSON.parse(readFileSync(join(dataDir, file), "utf8")) as T;
  }
}
