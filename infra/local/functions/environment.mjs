/**
 * One execution environment of a function: loads the handler once, then answers one request after the other, as
 * Lambda's runtime does. Requests are lines of JSON on stdin, answers are lines of JSON on file descriptor 3, and
 * stdout and stderr belong to the function. The process ends when stdin closes.
 */
import { existsSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { onLine } from "../lines.mjs";

/** Lambda refuses answers above 6 MB and a little. */
const maxPayloadBytes = 6_291_556;

const answers = new Socket({ fd: 3 });
/** @type {string | undefined} Id of the request that is being worked on. */
let current;

/** @param {object} message @param {() => void} [then] */
function say(message, then) {
  answers.write(`${JSON.stringify(message)}\n`, then);
}

/** The error object that Lambda makes of what a handler throws. @param {unknown} error */
function errorPayload(error) {
  if (!(error instanceof Error)) return { errorType: typeof error, errorMessage: String(error), trace: [] };
  const trace = (error.stack ?? "").split("\n");
  return { errorType: error.name, errorMessage: error.message, trace };
}

function memoryMb() {
  return Math.ceil(process.resourceUsage().maxRSS / 1024);
}

/** Tells the runner why and ends: after an unhandled error Lambda does not use an environment again. */
function give(type) {
  return (/** @type {unknown} */ error) => {
    console.error(error);
    const message = { id: current, error: { ...errorPayload(error), errorType: type }, memory_mb: memoryMb() };
    say(message, () => process.exit(1));
  };
}

async function loadHandler() {
  const { _HANDLER: name = "", LAMBDA_TASK_ROOT: root = "" } = process.env;
  const dot = name.lastIndexOf(".");
  const file = ["mjs", "js", "cjs"].map((end) => join(root, `${name.slice(0, dot)}.${end}`)).find(existsSync);
  if (file === undefined) throw new Error(`Cannot find module '${name.slice(0, dot)}'`);
  const loaded = await import(pathToFileURL(file).href);
  const handler = loaded[name.slice(dot + 1)];
  if (typeof handler !== "function") throw new Error(`${name} is undefined or not exported`);
  return handler;
}

/** The context object that a handler gets. @param {any} request */
function contextOf(request) {
  const { env } = process;
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName: env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
    invokedFunctionArn: request.function_arn,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    awsRequestId: request.id,
    logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
    getRemainingTimeInMillis: () => Math.max(0, request.deadline_ms - Date.now()),
  };
}

/** @param {Function} handler @param {any} request */
async function answer(handler, request) {
  current = request.id;
  process.env._X_AMZN_TRACE_ID = request.trace_id;
  try {
    const payload = JSON.stringify(await handler(request.event, contextOf(request))) ?? "null";
    if (Buffer.byteLength(payload) > maxPayloadBytes) {
      const size = `Response payload size exceeded maximum allowed payload size (${maxPayloadBytes} bytes).`;
      const error = { errorType: "Function.ResponseSizeTooLarge", errorMessage: size, trace: [] };
      return say({ id: request.id, error, memory_mb: memoryMb() });
    }
    say({ id: request.id, payload, memory_mb: memoryMb() });
  } catch (error) {
    console.error(error);
    say({ id: request.id, error: errorPayload(error), memory_mb: memoryMb() });
  } finally {
    current = undefined;
  }
}

// A Ctrl-C reaches the whole process group; the runner ends its environments itself, after their requests.
process.on("SIGINT", () => {});
process.on("unhandledRejection", give("Runtime.UnhandledPromiseRejection"));
process.on("uncaughtException", give("Runtime.UncaughtException"));
// The runner is gone: stdin tells the same.
answers.on("error", () => process.exit(0));

/** @type {Function | undefined} The runner sends no request before it knows that the code is loaded. */
let handler;
// Read from the start, so that the end of the runner is seen while the code loads.
process.stdin.on("end", () => process.exit(0));
onLine(process.stdin, (line) => void answer(handler, JSON.parse(line)));
try {
  handler = await loadHandler();
  say({ ready: true });
} catch (error) {
  console.error(error);
  say({ init_error: errorPayload(error) }, () => process.exit(1));
}
