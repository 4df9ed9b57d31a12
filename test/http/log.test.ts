import { Logger } from "@aws-lambda-powertools/logger";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { log } from "../../shared/runtime/log.ts";

type Entry = Record<string, unknown>;

/** What is written to the output meanwhile, line by line as JSON. */
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

/** What Powertools for AWS Lambda writes for the same. */
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
  vi.stubEnv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1");
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
