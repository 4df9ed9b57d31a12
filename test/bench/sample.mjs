/**
 * One sample of the bench, in a process of its own: loads a bundle, gives it its events one after the other, and prints
 * what that took of the processor. Reads `{module, events, warm, shown}` from the file that the first argument names;
 * `shown` prints the first answer as well.
 */
import { readFileSync, writeSync } from "node:fs";

// Lambda's own runtime client requires this before it loads a function (RAPIDClient.js of
// aws-lambda-nodejs-runtime-interface-client), so no function pays for it, the empty one included.
process.getBuiltinModule("node:http");

const { module, events, warm, shown } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const context = {
  functionName: "bench",
  awsRequestId: "bench",
  getRemainingTimeInMillis: () => 10_000,
  callbackWaitsForEmptyEventLoop: false,
};

/** @param {NodeJS.CpuUsage} since Milliseconds of processor time since then. */
const cpuMs = (since) => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
};

const log = process.stdout.write.bind(process.stdout);
process.stdout.write = () => true;
const start = process.cpuUsage();
const { handler } = await import(module);
const import_ms = cpuMs(start);
let first_ms;
let warm_us;
let answer;
if (events.length > 0) {
  const before = process.cpuUsage();
  answer = await handler(structuredCloneOf(events[0]), context);
  first_ms = cpuMs(before);
}
if (warm > 0 && events.length > 0) {
  for (let turn = 0; turn < warm; turn += 1) await again(turn);
  const before = process.cpuUsage();
  for (let turn = 0; turn < warm; turn += 1) await again(warm + turn);
  warm_us = (cpuMs(before) * 1000) / warm;
}
const { user, system } = process.cpuUsage();
const total_ms = (user + system) / 1000;
const rss_mb = process.resourceUsage().maxRSS / 1024;
process.stdout.write = log;
const figures = { import_ms, first_ms, total_ms, warm_us, rss_mb, status: answer?.statusCode };
writeSync(1, JSON.stringify(shown ? { ...figures, answer } : figures));
process.exit(0);

/**
 * The same request, or the next one where there are several, in a minute of its own, so that no limit of requests is
 * met.
 * @param {number} turn
 */
async function again(turn) {
  const event = structuredCloneOf(events[(turn + 1) % events.length]);
  if (event.requestContext) event.requestContext.requestTimeEpoch += process.pid * 1e8 + (turn + 1) * 60_000;
  const { statusCode = 200 } = await handler(event, context);
  if (statusCode >= 300) throw new Error(`Request ${turn} was answered ${statusCode}.`);
}

/** A handler may change its event, so each call gets its own. @param {unknown} event */
function structuredCloneOf(event) {
  return JSON.parse(JSON.stringify(event));
}
