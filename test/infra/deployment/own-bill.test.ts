import { describe, expect, it } from "vitest";
import { billOf } from "../../../infra/tools/cost/bill.ts";
import { usualMonth } from "../../../infra/tools/cost/mix.ts";
import { costedStage } from "../../../infra/tools/cost/template.ts";
import { measuredUnits } from "../../../infra/tools/cost/units.ts";
import { priceList } from "../../../shared/domain/usage/prices.ts";
import { at, ofType } from "../assembly.ts";
import { synthesized } from "../stack-cases.ts";

/**
 * The bill once more, without the command's counts and formulas: from the template of production, the price list, and
 * amounts that are written out here as one reads them off the code.
 */
const stageOf = () => synthesized("production");
const usd = (name: keyof typeof priceList) => priceList[name].usd[0];
const hours = 730;
const minutes = hours * 60;

const memoryOf = (id: string) => {
  const found = ofType(stageOf(), "AWS::Lambda::Function").find(
    ({ properties }) => properties["FunctionName"] === `brokerage-production-${id}`,
  );
  return Number(found?.properties["MemorySize"]);
};
/** An invocation that waits and computes for so many milliseconds; a whole processor is 1,769 MB. */
const invocation = (id: string, waiting: number, computing: number) => {
  const memory = memoryOf(id);
  const seconds = (waiting + computing / Math.min(1, memory / 1769)) / 1000;
  return usd("lambda_per_million_requests") / 1e6 + seconds * (memory / 1024) * usd("lambda_per_gigabyte_second");
};
const reads = (units: number) => (units * usd("dynamodb_per_million_read_units")) / 1e6;
const writes = (units: number) => (units * usd("dynamodb_per_million_write_units")) / 1e6;
/** Lines of a log: written, and kept for three months at 15 % of their size. */
const logged = (bytes: number) =>
  (bytes / 1e9) * (usd("logs_per_gigabyte") + 0.15 * (90 / (hours / 24)) * usd("logs_per_gigabyte_month"));
const messages = (count: number) => (count * 3 * usd("sqs_fair_per_million_requests")) / 1e6;
const fifo = (count: number) => (count * 3 * usd("sqs_fifo_per_million_requests")) / 1e6;
const sent = (bytes: number) => (bytes / 1e9) * usd("transfer_per_gigabyte");

/** Of so many requests a month, those that ask the authorizer: a caller's token is kept for a minute. */
const asked = (requests: number) => 1 / (1 + (requests / (hours * 3600)) * 60);

/** A request with a token: what it reads and writes, its counter included. */
function request(id: string, units: { reads: number; writes: number; waits: number; computes: number }, month = 1e6) {
  const authorized = invocation("authorize", 5, 3) + reads(2) + logged(600);
  return (
    usd("gateway_per_million_requests") / 1e6 +
    invocation(id, units.waits, units.computes) +
    reads(units.reads) +
    writes(units.writes) +
    logged(600 + 140) +
    sent(2500) +
    (0.05 * usd("traces_per_million")) / 1e6 +
    asked(month) * authorized
  );
}

const bill = (traffic = usualMonth) =>
  billOf({
    ...{ stage: "production", costed: costedStage(stageOf().directory), units: measuredUnits(), region: "us-east-1" },
    traffic,
  });
const shown = (name: string) => {
  const { routes, events, others } = bill();
  return [...routes, ...events, ...others].find((each) => each.name === name)?.dollars ?? Number.NaN;
};

/** Both sides with their difference, so that a failure says which is how far away. */
function expectWithinOnePercent(said: number, own: number): void {
  expect([said, own, Math.abs(said / own - 1) < 0.01]).toEqual([said, own, true]);
}

// One strong read of the item, or none before a commit; every request writes its counter.
const read = { reads: 1, writes: 1, waits: 7.5, computes: 0.8 };
const readAccount = { ...read, computes: 1.1 };
/**
 * A client, its key, a mark of its email, the item that finds it and an outbox item of two units, each twice as a
 * transaction; 2, 3 and 1 entries of indexes; and the counter, which is awaited before the transaction.
 */
const createClient = { reads: 0, writes: 2 * (1 + 1 + 1 + 1 + 2) + (2 + 3 + 1) + 1, waits: 7.5 + 25, computes: 1.2 };

describe("the cost of a million, calculated a second time", () => {
  it.each([
    ["get_client", read],
    ["get_account", readAccount],
    ["create_client", createClient],
  ])("agrees for %s", (id, units) => {
    expectWithinOnePercent(shown(id), request(id.replace("_", "-"), units) * 1e6);
  });

  it("agrees for an event to two endpoints", () => {
    // The publisher, two deliveries that are stored and updated, and what the sweep takes out of the due index.
    const work = { writes: 29.36, reads: 13.2, messages: 2, fifo: 0.59, invocations: 1.77, gigabyte_seconds: 0.1698 };
    const own =
      writes(work.writes) +
      reads(work.reads) +
      messages(work.messages) +
      fifo(work.fifo) +
      work.invocations * (usd("lambda_per_million_requests") / 1e6 + logged(600)) +
      work.gigabyte_seconds * usd("lambda_per_gigabyte_second") +
      2 * sent(1500);
    expectWithinOnePercent(shown("event to 2 endpoints"), own * 1e6);
  });

  it.each([
    // The source, the symbol and the quote are read, the counter and the quote are written; behind it the watch reads
    // four shards of the exposure index and the terms of the symbol.
    [1, { reads: 3, writes: 2, waits: 17.5, behind: 4.97, invocations: 1.01, seconds: 0.015 }],
    // The records of one request are read from four shards at once, so four invocations have all twenty.
    [20, { reads: 41, writes: 21, waits: 25, behind: 20 * 4 + 2.5, invocations: 4.24, seconds: 0.18 }],
  ])("agrees for a price of %i in a request", (count, units) => {
    const perRequest =
      usd("gateway_per_million_requests") / 1e6 +
      invocation("send-feed-quotes", units.waits, 4) +
      reads(units.reads + units.behind) +
      writes(units.writes) +
      units.invocations * (usd("lambda_per_million_requests") / 1e6 + logged(600)) +
      units.seconds * (memoryOf("watch") / 1024) * usd("lambda_per_gigabyte_second") +
      logged(600) +
      sent(2500) +
      (0.05 * usd("traces_per_million")) / 1e6;
    expectWithinOnePercent(shown(`price, ${count} in a request, with an account to watch`), (perRequest / count) * 1e6);
  });
});

/** A month of one hot set: an invocation that never ends, five looks a second, and a message each six seconds. */
function hotSet(): number {
  const seconds = hours * 3600;
  // A look reads the set and the counter strongly, and the range of the events; cursors each two seconds, the flag each
  // one and a half.
  const tables = reads(12.15) + writes(1 / 2 + 1 / 1.5);
  const running = (memoryOf("stream-deliver") / 1024) * usd("lambda_per_gigabyte_second");
  const handOver = (usd("lambda_per_million_requests") / 1e6 + logged(600) + fifo(1)) / 6;
  return seconds * (tables + running + handOver);
}

/** A month without traffic, from the template alone. */
function idle(): number {
  const alarms = ofType(stageOf(), "AWS::CloudWatch::Alarm").map(({ properties }) => JSON.stringify(properties));
  const metrics = alarms.reduce((sum, text) => sum + text.split('"MetricName":').length - 1, 0);
  const fixed =
    metrics * usd("alarm_per_metric_month") +
    ofType(stageOf(), "AWS::CloudWatch::Dashboard").length * usd("dashboard_month") +
    ofType(stageOf(), "AWS::SecretsManager::Secret").length * usd("secret_month");
  const sources = ofType(stageOf(), "AWS::Lambda::EventSourceMapping").map(({ properties }) => properties);
  const queues = sources.filter(({ EventSourceArn: source }) => !JSON.stringify(source).includes("StreamArn"));
  const fifoQueues = ofType(stageOf(), "AWS::SQS::Queue").filter(({ properties }) => properties["FifoQueue"] === true);
  // People read the content of a failure queue.
  const ordered = fifoQueues.filter(({ properties }) => properties["RedrivePolicy"] !== undefined).length;
  // Five pollers of a queue, each of which waits for 20 seconds.
  const asking = (15 * minutes) / 1e6;
  const polled = asking * (queues.length * usd("sqs_per_million_requests") + ordered * 0.1);
  // Reads and waits of each run, and how often it comes; one that comes more rarely than each five minutes starts.
  const runs = [
    ["provision", 28, 126, 1],
    ["sweep-events", 140, 42, 1],
    ["margin-sweep", 17.5, 12, 1],
    ["stream-sweep", 1, 6, 1],
    ["sum-events", 3, 11, 1],
    ["run-jobs", 4, 6, 1],
    ["keep-warm", 0, 50, 1],
    ["reconcile-books", 1, 6, 15],
    ["seal-audit", 8, 11, 60],
    ["collect-usage", 16, 21, 60],
  ] as const;
  expect(ofType(stageOf(), "AWS::Scheduler::Schedule")).toHaveLength(runs.length);
  const swept = runs.reduce((sum, [id, units, waits, every]) => {
    const run = invocation(id, waits + (every > 5 ? 250 : 0), 3) + reads(units) + logged(600);
    return sum + (minutes / every) * (run + usd("schedule_per_million_invocations") / 1e6);
  }, 0);
  const warmer = ofType(stageOf(), "AWS::Scheduler::Schedule").find(({ properties }) =>
    String(at(properties["Target"], "Input")).includes("functions"),
  );
  const { functions } = JSON.parse(String(at(warmer?.properties["Target"], "Input")));
  const ids = String(functions).split(" ");
  const warmed = ids.reduce((sum, id) => sum + (minutes / 5) * invocation(id, 2, 0), 0);
  return fixed + polled + swept + warmed;
}

describe("a month, calculated a second time", () => {
  it("agrees for a hot set of the stream", () => {
    expectWithinOnePercent(
      bill().month.lines.find(({ name }) => name.startsWith("Hot sets"))?.dollars ?? Number.NaN,
      hotSet(),
    );
  });

  it("agrees without traffic, for which it costs at most 17.35 dollars", () => {
    const { dollars } = bill().idle_month;
    expectWithinOnePercent(dollars, idle());
    expect(dollars).toBeLessThanOrEqual(17.35);
  });

  it("agrees for 100,000 requests of a quiet stage", () => {
    const requests = 100_000;
    const quiet = {
      ...{ ...usualMonth, requests, mix: { get_client: 3, create_client: 1 }, endpoints_per_event: 0 },
      ...{ prices_per_second: 0, stream_connections: 0, hot_stream_sets: 0, stored_gigabytes: 1, audit_months: 0 },
      ...{ operators: 0, dashboard_requests: 0, dashboard_gigabytes: 0 },
    };
    // It is published, and has no receiver.
    const event =
      writes(10.54) +
      reads(4.32) +
      fifo(0.634) +
      1.269 * (usd("lambda_per_million_requests") / 1e6 + logged(600)) +
      0.1094 * usd("lambda_per_gigabyte_second");
    const own =
      idle() +
      75_000 * request("get-client", read, requests) +
      25_000 * (request("create-client", createClient, requests) + event) +
      (1 + (25_000 * 8163) / 1e9 / 2) * (usd("dynamodb_per_gigabyte_month") + 0.2);
    expectWithinOnePercent(bill(quiet).month.dollars, own);
  });
});
