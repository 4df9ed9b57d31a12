import { PutItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import type { DynamoDBRecord, SQSRecord } from "aws-lambda";
import { limits } from "../../../shared/limits.ts";
import { breaches, type Entity, type Key, pulses, quotes, risks } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import type { TestApi } from "../emulator/api.ts";
import { lambdaContext } from "../emulator/request.ts";
import { someQuote } from "./trading.ts";

const { handler: watch } = await import("../../../functions/margin/watch.ts");
const { handler: evaluate } = await import("../../../functions/margin/evaluate.ts");
const { handler: sweep } = await import("../../../functions/margin/sweep.ts");

/**
 * The functions of the margin of one table, called as Lambda calls them: with records of the stream as it would bring
 * them, and with the messages that were sent. Loaded after the environment is set.
 */
export function marketWatch(api: TestApi) {
  let sequence = 0;
  const put = async <T extends object>(entity: Entity<T>, item: T, before?: T): Promise<DynamoDBRecord> => {
    const TableName = api.emulator.volatileTableName;
    const NewImage = marshall(itemOf(entity, item), { removeUndefinedValues: true });
    await api.emulator.client.send(new PutItemCommand({ TableName, Item: NewImage }));
    sequence += 1;
    const images = { NewImage, ...(before === undefined ? {} : { OldImage: marshall(itemOf(entity, before)) }) };
    const dynamodb = { SequenceNumber: String(sequence), ...images } as NonNullable<DynamoDBRecord["dynamodb"]>;
    return { eventName: before === undefined ? "INSERT" : "MODIFY", dynamodb };
  };
  const age = async <T extends { readonly wake_at: string | null }>(entity: Entity<T>, { pk, sk }: Key, id: string) => {
    const past = new Date(Date.now() - 120_000).toISOString();
    await api.emulator.client.send(
      new UpdateItemCommand({
        TableName: api.emulator.tableName,
        Key: marshall({ pk, sk }),
        UpdateExpression: "SET wake_at = :wake, due_sk = :place",
        ConditionExpression: "et = :et AND attribute_exists(due_pk)",
        ExpressionAttributeValues: marshall({ ":wake": past, ":place": `${past}|${id}`, ":et": entity.et }),
      }),
    );
  };
  return {
    /** Writes a price, by default of this moment, and returns its stream record. */
    price: (tenant: string, symbol: string, price: readonly [string, string], fields: object = {}) => {
      const now = new Date().toISOString();
      const counted = { exposure_shards: limits.trading.first_exposure_shards };
      const quote = someQuote(symbol, price, { time: now, received_at: now, ...counted, ...fields });
      return put(quotes, { ...quote, tenant_id: tenant });
    },
    /** Writes a sign of life of a source after one of before; returns the record. */
    pulse: (tenant: string, name: string, heartbeat_at: string, before?: string) => {
      const pulse = (at: string) => ({ tenant_id: tenant, name, authoritative: "service" as const, heartbeat_at: at });
      return put(pulses, pulse(heartbeat_at), before === undefined ? undefined : pulse(before));
    },
    /** Hands records to the watch; returns the numbers of those that are to come again. */
    see: async (...records: readonly DynamoDBRecord[]): Promise<string[]> => {
      const { batchItemFailures: failed } = await watch({ Records: [...records] });
      return failed.map(({ itemIdentifier }) => itemIdentifier);
    },
    /** The accounts that were sent for since the last time, with the seconds that each message is held back. */
    sentFor: (): [accountId: string, delaySeconds: number][] =>
      api.queues.takeFrom("margin").map(({ body, delaySeconds = 0 }) => [String(body["account_id"]), delaySeconds]),
    /** Hands the messages sent so far to the evaluator, ten at a time; returns the accounts. */
    evaluateSent: async (timeoutMs = 30_000): Promise<string[]> => {
      const messages = api.queues.takeFrom("margin");
      for (let at = 0; at < messages.length; at += 10) {
        const bodies = messages.slice(at, at + 10).map(({ body }) => JSON.stringify(body));
        const { batchItemFailures: failed } = await evaluate(
          { Records: bodies.map(recordOf) },
          lambdaContext(timeoutMs),
        );
        if (failed.length > 0) throw new Error(`${failed.length} accounts could not be evaluated.`);
      }
      return messages.map(({ body }) => String(body["account_id"]));
    },
    /** Hands these bodies to the evaluator as they are; returns the places of those that are to come again. */
    evaluate: async (bodies: readonly string[], timeoutMs = 30_000): Promise<number[]> => {
      const { batchItemFailures: failed } = await evaluate({ Records: bodies.map(recordOf) }, lambdaContext(timeoutMs));
      return failed.map(({ itemIdentifier }) => Number(itemIdentifier));
    },
    sweep: (timeoutMs = 60_000) => sweep({}, lambdaContext(timeoutMs)),
    /** Lets the time of an account pass at which the sweep looks for it. */
    ageRisk: (tenant: string, accountId: string) => age(risks, risks.key(tenant, accountId), accountId),
    /** Lets the time of a symbol pass at which the sweep looks for it. */
    ageBreach: (tenant: string, symbol: string) => age(breaches, breaches.key(tenant, symbol), `${tenant}:${symbol}`),
  };
}

function recordOf(body: string, place: number): SQSRecord {
  return { messageId: String(place), body } as SQSRecord;
}
