import { Logger } from "@aws-lambda-powertools/logger";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { log } from "../../shared/runtime/log.ts";
import { traceBytes, traceId, traceOfBytes, traceOfParent, underNames } from "../../shared/runtime/trace.ts";

type Entry = Record<string, unknown>;

const root = "1-5759e988-bd862e3fe1be46a994272793";
const hex = "4bf92f3577b34da6a3ce929d0e0e4736";
const parent = "00f067aa0ba902b7";

/** Output meanwhile, line by line as JSON. */
function written(work: () => void): Entry[] {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  try {
    work();
    return write.mock.calls.map(([line]) => {
      expect(String(line)).toMatch(/^[^\n]+\n$/);
      return JSON.parse(String(line));
    });
  } finally {
    write.mockRestore();
  }
}

/** Line of Powertools for AWS Lambda for the same. */
function ofPowertools(level: "info" | "warn" | "error", message: string, details: Entry): Entry {
  const lines: string[] = [];
  const logger = new Logger();
  const sink = (line: string) => lines.push(line);
  Object.assign(logger, { console: { info: sink, warn: sink, error: sink } });
  logger[level](message, details);
  return JSON.parse(lines[0] ?? "{}");
}

beforeEach(() => {
  vi.stubEnv("POWERTOOLS_SERVICE_NAME", "brokerage");
  vi.stubEnv("POWERTOOLS_LOG_LEVEL", undefined);
  vi.stubEnv("LOG_LEVEL", undefined);
  vi.stubEnv("_X_AMZN_TRACE_ID", `Root=${root};Parent=53995c3f42cd8ad8;Sampled=1`);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe("the log", () => {
  it("does not let details replace its own fields", () => {
    const [entry] = written(() => log.info("true", { level: "ERROR", message: "false", service: "other", id: "a" }));
    expect(entry).toMatchObject({ level: "INFO", message: "true", service: "brokerage", id: "a" });
  });

  it.each([
    ["ERROR", ["ERROR"]],
    ["WARN", ["WARN", "ERROR"]],
    ["INFO", ["INFO", "WARN", "ERROR"]],
    ["SILENT", []],
    ["nonsense", ["INFO", "WARN", "ERROR"]],
  ])("writes at the level %s entries of that level and above", (level, expected) => {
    vi.stubEnv("LOG_LEVEL", level);
    const entries = written(() => {
      log.info("a");
      log.warn("b");
      log.error("c");
    });
    expect(entries.map((entry) => entry["level"])).toEqual(expected);
  });

  it("writes an error with its stack and a bigint with its digits", () => {
    const [entry] = written(() =>
      log.error("failed", { error: new TypeError("wrong"), amount: 12345678901234567890n }),
    );
    expect(entry).toMatchObject({
      error: { name: "TypeError", message: "wrong", stack: expect.stringContaining("TypeError: wrong") },
      amount: "12345678901234567890",
    });
  });

  it.each(["info", "warn", "error"] as const)("writes at %s the fields that Powertools writes", (level) => {
    const details = { id: "txn_1", count: 3, list: [1, "a"] };
    const [own] = written(() => log[level]("It happened.", details));
    const { timestamp, sampling_rate: _rate, ...theirs } = ofPowertools(level, "It happened.", details);
    expect(own).toEqual({ ...theirs, timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) });
    expect(timestamp).toMatch(/Z$/);
  });
});

describe("a traceparent", () => {
  const form = "1-4bf92f35-77b34da6a3ce929d0e0e4736";
  it.each([
    ["of the present version", `00-${hex}-${parent}-01`, form],
    ["that is not sampled", `00-${hex}-${parent}-00`, form],
    ["of a later version, which may say more", `cc-${hex}-${parent}-01-what-comes`, form],
    ["of version 00 that says more", `00-${hex}-${parent}-01-what-comes`, undefined],
    ["of version 255", `ff-${hex}-${parent}-01`, undefined],
    ["with a trace of zeros", `00-${"0".repeat(32)}-${parent}-01`, undefined],
    ["with a parent of zeros", `00-${hex}-${"0".repeat(16)}-01`, undefined],
    ["in capitals", `00-${hex.toUpperCase()}-${parent}-01`, undefined],
    ["without flags", `00-${hex}-${parent}`, undefined],
    ["with a space", ` 00-${hex}-${parent}-01`, undefined],
    ["with a line of a log", `00-${hex}-${parent}-01\n{"message":"request"}`, undefined],
    ["that is empty", "", undefined],
  ])("%s", (_, text, expected) => {
    expect(traceOfParent(text)).toBe(expected);
  });
});

describe("a trace", () => {
  it("takes 16 bytes of an item", () => {
    for (const trace of [root, "1-00000000-000000000000000000000001"]) {
      expect([traceBytes(trace).length, traceOfBytes(traceBytes(trace))]).toEqual([16, trace]);
    }
  });

  it("is that of the invocation, unless the caller has sent its own", async () => {
    expect(traceId()).toBe(root);
    await underNames({ request_id: "r", trace_id: "1-a-b" }, async () => expect(traceId()).toBe("1-a-b"));
    await underNames({ request_id: "r" }, async () => expect(traceId()).toBe(root));
    vi.stubEnv("_X_AMZN_TRACE_ID", undefined);
    expect(traceId()).toBeUndefined();
  });

  it.each(["Root=1-5759e988-bd86;Sampled=1", "Root=2-5759e988-bd862e3fe1be46a994272793", "Self=x"])(
    "is none in %s, which no item could hold",
    (header) => {
      vi.stubEnv("_X_AMZN_TRACE_ID", header);
      expect(traceId()).toBeUndefined();
    },
  );
});

describe("the log of requests at the same time", () => {
  it("names in each line the request that it is about", async () => {
    const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    const work = (request_id: string) =>
      underNames({ request_id, trace_id: `1-of-${request_id}` }, async () => {
        log.warn("before");
        await Promise.resolve();
        log.warn("after", { id: request_id });
      });
    try {
      await Promise.all(["one", "other"].map(work));
      log.warn("outside");
      const lines = write.mock.calls.map(([line]) => JSON.parse(String(line)));
      expect(lines.map(({ message, request_id, trace_id, id }) => [message, request_id, trace_id, id])).toEqual([
        ["before", "one", "1-of-one", undefined],
        ["before", "other", "1-of-other", undefined],
        ["after", "one", "1-of-one", "one"],
        ["after", "other", "1-of-other", "other"],
        ["outside", undefined, undefined, undefined],
      ]);
      for (const line of lines) expect(line).toMatchObject({ xray_trace_id: root });
    } finally {
      write.mockRestore();
    }
  });
});
