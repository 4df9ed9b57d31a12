import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { limits } from "../limits.ts";
import { bounded } from "../runtime/budget.ts";
import { env } from "../runtime/env.ts";
import { causeOf, countMetric, log } from "../runtime/log.ts";
import { failureCounters, rateCounters } from "./entities.ts";
import { metered } from "./metered.ts";
import { readRawItem, table } from "./table.ts";

/** A window of one second that requests of a kind are counted in. */
interface RateWindow {
  /** First letter of the counters of its seconds. */
  readonly slot: string;
  readonly per_second: number;
  /** Name in an answer that refuses. */
  readonly policy: "burst" | "quotes" | "feed" | "feed_quotes";
}

/** Window of each class of requests; the standard one counts against the minute as well. */
const windows = {
  standard: { slot: "s", per_second: limits.rate.burst_per_second, policy: "burst" },
  quotes: { slot: "q", per_second: limits.rate.quotes_per_second, policy: "quotes" },
  feed: { slot: "f", per_second: limits.rate.feed_per_second, policy: "feed" },
  operator: { slot: "o", per_second: limits.rate.operator_per_second, policy: "burst" },
  feed_quotes: { slot: "t", per_second: limits.rate.feed_per_second, policy: "feed_quotes" },
} as const satisfies Readonly<Record<string, RateWindow>>;

/** Limits that a request counts against. */
export type RateClass = keyof typeof windows;

/** Verdict of the counter on one request. `reset_seconds` is the start of the next window in epoch seconds. */
export interface RateVerdict {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly reset_seconds: number;
  /** Policies that refused it; empty when allowed. */
  readonly violated: readonly ("minute" | RateWindow["policy"])[];
  /** Whole seconds after which the refused request may be tried again. */
  readonly retry_after_seconds: number;
  /** Counts of the minute, where a request asked for all of them and the counter answered. */
  readonly counts?: Counts;
}

/** The rest of one window. */
export interface WindowState {
  readonly name: "minute" | RateWindow["policy"];
  readonly limit: number;
  /** Undefined if the counter could not be asked. */
  readonly used: number | undefined;
  readonly seconds: 1 | 60;
  /** Start of the next window, epoch seconds. */
  readonly reset_seconds: number;
}

// One try: a request does not wait for a counter that fails. Only where a connection that was reused turns out to be
// closed the handler sends once more, so a count may be one too high and is never too low (ADR 0032). It uses the
// connections of the other client, so that whichever made one first made it for both.
const counterTable = metered(
  bounded(
    DynamoDBDocumentClient.from(new DynamoDBClient({ maxAttempts: 1, requestHandler: table.config.requestHandler })),
  ),
  [],
);

/** How long a counter is waited for. */
const briefly = () => ({ requestTimeout: limits.rate.counter_answer_ms * env.budgetFactor });

type Counts = Readonly<Record<string, number>>;

/**
 * Counts one request of an application or an operator exactly, in one conditional write: refused requests do not count
 * (ADR 0007). When the counter cannot be asked the request passes and an alarm metric is written. `asked` is what the
 * one write returns: what this request counts against, or all that was counted in the minute, at no other price.
 */
export async function countRequest(
  caller: { readonly tenant_id: string; readonly application_id: string },
  rateClass: RateClass,
  requestTimeMs: number,
  asked: "UPDATED_NEW" | "ALL_NEW" = "UPDATED_NEW",
): Promise<RateVerdict> {
  const seconds = Math.floor(requestTimeMs / 1000);
  const minute = Math.floor(seconds / 60);
  const second = seconds % 60;
  const standard = rateClass === "standard";
  const window = windows[rateClass];
  const slot = `${window.slot}${second}`;
  const free = "(attribute_not_exists(#slot) OR #slot < :per_second)";
  try {
    const { Attributes: counts } = await counterTable.send(
      new UpdateCommand({
        TableName: env.volatileTableName,
        Key: rateCounters.key(caller.tenant_id, caller.application_id, minute),
        UpdateExpression: `SET et = :et, expires_at = :expires ADD #slot :one${standard ? ", n :one" : ""}`,
        ConditionExpression: standard ? `${free} AND (attribute_not_exists(n) OR n < :per_minute)` : free,
        ExpressionAttributeNames: { "#slot": slot },
        ExpressionAttributeValues: {
          ":et": rateCounters.et,
          ":expires": (minute + 1) * 60 + limits.rate.counter_kept_seconds,
          ":one": 1,
          ":per_second": window.per_second,
          ...(standard ? { ":per_minute": limits.rate.per_minute } : {}),
        },
        ReturnValues: asked,
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      }),
      briefly(),
    );
    const found = verdict(counts as Counts, rateClass, slot, seconds, []);
    return asked === "ALL_NEW" ? { ...found, counts: counts as Counts } : found;
  } catch (error) {
    const { name, Item: item } = error as { name?: string; Item?: Record<string, unknown> };
    if (name !== "ConditionalCheckFailedException") return failOpen(error, rateClass, slot, seconds);
    const counts = readRawItem<Counts>(item ?? {});
    const minuteFull = standard && (counts["n"] ?? 0) >= limits.rate.per_minute;
    const secondFull = (counts[slot] ?? 0) >= window.per_second;
    return verdict(counts, rateClass, slot, seconds, [
      ...(minuteFull ? (["minute"] as const) : []),
      ...(secondFull || !minuteFull ? [window.policy] : []),
    ]);
  }
}

function verdict(
  counts: Counts,
  rateClass: RateClass,
  slot: string,
  seconds: number,
  violated: RateVerdict["violated"],
): RateVerdict {
  const standard = rateClass === "standard";
  const limit = standard ? limits.rate.per_minute : windows[rateClass].per_second;
  const used = counts[standard ? "n" : slot] ?? 0;
  const nextMinute = (Math.floor(seconds / 60) + 1) * 60;
  return {
    allowed: violated.length === 0,
    limit,
    remaining: Math.max(0, limit - used),
    reset_seconds: standard ? nextMinute : seconds + 1,
    violated,
    retry_after_seconds: violated.includes("minute") ? nextMinute - seconds : 1,
  };
}

/** The rest of each window that the requests of a caller count against, by the counts of the minute. */
export function windowsOf(
  caller: "application" | "operator",
  counts: Counts | undefined,
  requestTimeMs: number,
): WindowState[] {
  const now = Math.floor(requestTimeMs / 1000);
  const usedOf = (name: string) => (counts === undefined ? undefined : (counts[name] ?? 0));
  const windowOf = ({ slot, per_second, policy }: RateWindow): WindowState => ({
    ...{ name: policy, limit: per_second, used: usedOf(`${slot}${now % 60}`), seconds: 1, reset_seconds: now + 1 },
  });
  if (caller === "operator") return [windowOf(windows.operator)];
  const reset_seconds = (Math.floor(now / 60) + 1) * 60;
  const minute = {
    name: "minute",
    limit: limits.rate.per_minute,
    used: usedOf("n"),
    seconds: 60,
    reset_seconds,
  } as const;
  const { standard, quotes, feed, feed_quotes } = windows;
  return [minute, ...[standard, quotes, feed, feed_quotes].map(windowOf)];
}

function failOpen(error: unknown, rateClass: RateClass, slot: string, seconds: number): RateVerdict {
  countMetric("RateCounterFailedOpen");
  log.error("The rate counter could not be read; the request is admitted.", causeOf(error));
  return verdict({}, rateClass, slot, seconds, []);
}

/**
 * Counts a failed client authentication of this clock minute by the address that it came from (RFC 6749 2.3.1). An
 * address that has tried one client too often has tried too often, so this one count bounds both. Returns the
 * seconds until it may be tried again when there were too many, else undefined. When the counter cannot be asked the
 * failure passes as one of few, and an alarm metric is written.
 */
export async function countFailure(address: string, timeMs: number): Promise<number | undefined> {
  const seconds = Math.floor(timeMs / 1000);
  const minute = Math.floor(seconds / 60);
  try {
    const { Attributes: counts } = await counterTable.send(
      new UpdateCommand({
        TableName: env.volatileTableName,
        Key: failureCounters.key(address, minute),
        UpdateExpression: "SET et = :et, expires_at = :expires ADD n :one",
        ExpressionAttributeValues: {
          ":et": failureCounters.et,
          ":expires": (minute + 1) * 60 + limits.rate.counter_kept_seconds,
          ":one": 1,
        },
        ReturnValues: "UPDATED_NEW",
      }),
      briefly(),
    );
    const failures = (counts as Counts)["n"] ?? 0;
    return failures > limits.token.failures_per_minute ? (minute + 1) * 60 - seconds : undefined;
  } catch (error) {
    countMetric("RateCounterFailedOpen");
    log.error("Failed authentications could not be counted.", causeOf(error));
    return undefined;
  }
}

/**
 * Makes an environment ready before its first request: asks for a change that its condition forbids, which connects,
 * signs and reads an answer. Lambda starts an environment with more of a processor than it gives to a request, and the
 * first call of a client costs 20 ms. Whatever goes wrong here the first request finds out by itself.
 */
export async function prime(): Promise<void> {
  if (!env.isLambda) return;
  const absentCounter = new UpdateCommand({
    TableName: env.volatileTableName,
    Key: rateCounters.key("brk_prime", "app_prime", 0),
    UpdateExpression: "SET et = :et",
    ConditionExpression: "attribute_exists(pk)",
    ExpressionAttributeValues: { ":et": rateCounters.et },
    ReturnValues: "UPDATED_NEW",
  });
  await counterTable.send(absentCounter, briefly()).catch(() => undefined);
}
