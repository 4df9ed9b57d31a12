import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "../../infra/local/dynamodb/database.ts";
import { EventSources } from "../../infra/local/event-sources.ts";
import { Functions, functionDefinition } from "../../infra/local/functions/functions.ts";
import type { Guard } from "../../infra/local/guard.ts";
import { Permissions } from "../../infra/local/iam/permissions.ts";
import type { Queues } from "../../infra/local/queues/queues.ts";
import { Secrets } from "../../infra/local/secrets/secrets.ts";
import { readAssembly } from "../../infra/local/template/assembly.ts";
import { type TestStack, temporaryFolder, writeAssembly } from "./fixture.ts";

/**
 * Starts what invokes the functions of a template without streams, and none of the servers that a runner starts before:
 * for templates that are refused, as the start of a runner is that hands the refusal on.
 */
export async function startEventSources(
  stack: TestStack,
  { guard, queues }: { readonly guard: Guard; readonly queues: Queues },
): Promise<void> {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, "data");
  mkdirSync(dataDir);
  writeAssembly(folder.path, stack);
  const assembly = readAssembly(folder.path);
  const definitions = assembly.resources.filter(({ type }) => type === "AWS::Lambda::Function").map(functionDefinition);
  const variables = () => ({});
  const most = { maxEnvironments: 1, maxStarting: 1 };
  const functions = new Functions({ definitions, variables, guard, logs: dataDir, ...most });
  const sources = new EventSources({
    ...{ assembly, dataDir, functions, queues, timeScale: 1, schedulesAtStart: true },
    permissions: new Permissions(assembly.resources, assembly),
    secrets: new Secrets(assembly.resources, dataDir),
    onStreamBatch: undefined,
    onQueueBatch: undefined,
  });
  try {
    // A database is read by streams and by the sweep of a runner that runs.
    await sources.start(undefined as unknown as Database);
  } finally {
    sources.stopClocks();
    await sources.stopReaders();
    await functions.stop();
    folder.remove();
  }
}
