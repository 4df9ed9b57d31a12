import { DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { GetFunctionConfigurationCommand, LambdaClient } from "@aws-sdk/client-lambda";
import type { Stage } from "../../../shared/routes/route.ts";
import { UsageError } from "../../../shared/runtime/command-line.ts";
import { applicationRefs, auditPages, auditRefs, auditSeals, sequences } from "../../../shared/table/entities.ts";
import { settingsFile } from "../../settings-file.ts";
import { functionName } from "../../stages.ts";
import { type Journal, journalFile, type Numbers, type Phase, phases, readJournal, writeJournal } from "./journal.ts";
import {
  compareTables,
  type Item,
  itemsOf,
  keyOf,
  missingItems,
  partitionOf,
  putItems,
  restoreTable,
  scanned,
  setUp,
} from "./tables.ts";

/** Numbers that are left out above the last one that was read: what was being numbered then had fewer. */
const margin = 1000;

/** Arguments of the command. */
export interface RestoreOptions {
  readonly stage: Stage;
  /** The moment, as RFC 3339 in UTC. */
  readonly at: string;
  /** Whether nothing writes any more. */
  readonly isStopped: boolean;
}

/** Steps that need a table that nothing writes to. */
const needStop = (phase: Phase) => phase !== "restore";

async function tableOf(stage: Stage): Promise<string> {
  const client = new LambdaClient({});
  const name = functionName(stage, "sweep-events");
  const { Environment: environment } = await client.send(new GetFunctionConfigurationCommand({ FunctionName: name }));
  client.destroy();
  const table = environment?.Variables?.["TABLE_NAME"];
  if (table === undefined) throw new UsageError(`The function ${name} has no table.`);
  return table;
}

/** The counter of each brokerage that has one: every brokerage has an application from its beginning on. */
async function countersOf(client: DynamoDBClient, table: string): Promise<ReadonlyMap<string, Item>> {
  const tenants = new Set<string>();
  for await (const page of partitionOf(client, table, applicationRefs.partition)) {
    for (const { owner_tenant_id: owner } of page) tenants.add(String(owner?.S));
  }
  const keys = [...tenants]
    .map((tenant) => sequences.key(tenant))
    .map(({ pk, sk }) => ({ pk: { S: pk }, sk: { S: sk } }));
  const counters = [...(await itemsOf(client, table, keys)).values()];
  return new Map(counters.map((item) => [sequences.tenantIn({ pk: String(item["pk"]?.S) }), item]));
}

const lastOf = (counter: Item | undefined) => Number(counter?.["last"]?.N ?? 0);

/** The steps, each of which may have been done already, or a part of it. */
const steps: Readonly<Record<Phase, (client: DynamoDBClient, journal: Journal) => Promise<Partial<Journal>>>> = {
  restore: async (client, journal) => {
    await restoreTable(client, journal);
    return {};
  },
  numbers: async (client, { source, target }) => {
    const restored = await countersOf(client, target);
    const numbers: Record<string, Numbers> = {};
    for (const [tenant, counter] of await countersOf(client, source)) {
      numbers[tenant] = { last_valid: lastOf(restored.get(tenant)), after: lastOf(counter) + margin };
    }
    return { numbers };
  },
  compare: async (client, { source, target }) => ({ compared: await compareTables(client, source, target) }),
  // The audit says what happened, also where it is void: its days are sealed, and none can be sealed a second time with
  // other entries. So its chain goes on at the head that it has.
  audit: async (client, { source, target }) => {
    const types = [auditPages.et, auditRefs.et, auditSeals.et];
    for await (const page of scanned(client, source, types)) {
      await putItems(client, target, await missingItems(client, target, page));
    }
    for (const counter of (await countersOf(client, source)).values()) await moveHead(client, target, counter);
    return {};
  },
  settings: async (client, { source, target }) => ({ stream: await setUp(client, source, target) }),
  resume: async (client, { stage, at, target, numbers }) => {
    Object.assign(process.env, { STAGE: stage, TABLE_NAME: target });
    const { resumeNumbers } = await import("../../../shared/events/resume.ts");
    const counters = await countersOf(client, target);
    for (const [tenant_id, { last_valid, after }] of Object.entries(numbers)) {
      // An earlier run has moved this one: the event is in the same transaction.
      if (lastOf(counters.get(tenant_id)) >= after) continue;
      const given = { last_valid_sequence: String(last_valid), after_sequence: String(after), restored_to: at };
      await resumeNumbers({ tenant_id, ...given });
    }
    return {};
  },
};

/** Gives the counter of the restored table the head of the audit; its numbers of events stay. */
async function moveHead(client: DynamoDBClient, target: string, counter: Item): Promise<void> {
  const { et, v, audit_sequence, audit_hash, audit_expires_at } = counter;
  if (audit_sequence === undefined) return;
  const given = { et, v, audit_sequence, audit_hash, audit_expires_at };
  const set = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  const kept = "if_not_exists(#last, :none)";
  await client.send(
    new UpdateItemCommand({
      TableName: target,
      Key: keyOf(counter),
      UpdateExpression: `SET ${[...set.keys()].map((at) => `#n${at} = :v${at}, `).join("")}#last = ${kept}`,
      ExpressionAttributeNames: { "#last": "last", ...Object.fromEntries(set.map(([name], at) => [`#n${at}`, name])) },
      ExpressionAttributeValues: {
        ":none": { N: "0" },
        ...Object.fromEntries(set.map(([, value], at) => [`:v${at}`, value])),
      },
    }),
  );
}

/** Throws where events were numbered in the table of the stage beyond what was left out. */
async function mustHaveStopped(client: DynamoDBClient, { source, numbers }: Journal): Promise<void> {
  for (const [tenant, counter] of await countersOf(client, source)) {
    const after = numbers[tenant]?.after ?? 0;
    if (lastOf(counter) <= after) continue;
    throw new UsageError(
      `Events of ${tenant} were numbered up to ${lastOf(counter)} in ${source}, above ${after}: writing had not ` +
        "stopped. Delete the restored table and the journal, and begin again.",
    );
  }
}

/** Restores a stage to a moment, from where an earlier run was ended. Returns what it has done. */
export async function restoreFrom(options: RestoreOptions, say: (text: string) => void): Promise<Journal> {
  const { stage, at } = options;
  const file = journalFile(stage);
  const kept = readJournal(file);
  if (kept !== undefined && kept.at !== at) {
    throw new UsageError(`${file} is of the restore to ${kept.at}: move it away to begin another.`);
  }
  const source = kept?.source ?? (await tableOf(stage));
  const target = `${source.slice(0, 200)}-at-${at.replaceAll(/\D/g, "").slice(0, 14)}`;
  let journal: Journal = kept ?? { ...{ stage, at, source, target }, done: [], took_ms: {}, numbers: {} };
  writeJournal(file, journal);
  const client = new DynamoDBClient({});
  try {
    for (const phase of phases) {
      if (journal.done.includes(phase)) continue;
      if (needStop(phase) && !options.isStopped) {
        throw new UsageError("The table is made. Stop what writes (infra/runbooks/restore.md), then add --stopped.");
      }
      say(`${phase} ...`);
      const began = performance.now();
      const found = await steps[phase](client, journal);
      const took_ms = { ...journal.took_ms, [phase]: Math.round(performance.now() - began) };
      journal = { ...journal, ...found, took_ms, done: [...journal.done, phase] };
      writeJournal(file, journal);
    }
    await mustHaveStopped(client, journal);
    return journal;
  } finally {
    client.destroy();
  }
}

/** The remaining steps, in words. */
export function nextSteps({ stage, stream, compared, numbers }: Journal): string {
  const { same = 0, changed = 0, deleted = 0, made = 0 } = compared ?? {};
  return [
    `Items: ${same} equal, ${changed} changed since, ${deleted} deleted since; ${made} were made since and are lost.`,
    `Brokerages whose events are numbered on: ${Object.keys(numbers).length}.`,
    `Now switch the stage over: in ${settingsFile}, under "${stage}", "table_stream": "${stream}"`,
    `then npm run deploy -- --stage ${stage}, which names the table that leaves the template: allow it by --allow.`,
    "Repeat this command afterwards: it says whether anything was written meanwhile.",
  ].join("\n");
}
