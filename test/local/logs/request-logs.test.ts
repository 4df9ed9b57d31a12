import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { FunctionDefinition } from "../../../infra/local/functions/functions.ts";
import { RequestLogs } from "../../../infra/local/logs/request-logs.ts";

const folder = mkdtempSync(join(tmpdir(), "brokerage-logs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const at = (second: number) => new Date(Date.UTC(2026, 10, 21, 10, 0, second)).toISOString();
const line = (second: number, message: string, more = "") =>
  `${JSON.stringify({ level: "INFO", message, timestamp: at(second), more })}\n`;

const group = (name: string) => ({
  ...{ type: "AWS::Logs::LogGroup", path: name, physical_id: name, properties: {} },
  attributes: { Arn: `arn:aws:logs:eu-west-1:000000000000:log-group:${name}:*` },
});
const logger = (name: string, log_group: string) => ({ name, log_group }) as FunctionDefinition;
const logs = new RequestLogs(
  [group("requests"), group("others")],
  [logger("one", "requests"), logger("two", "requests"), logger("three", "others")],
  folder,
);

writeFileSync(join(folder, "one.log.1"), line(1, "request") + line(3, "The sweep recovered work."));
writeFileSync(join(folder, "one.log"), `${line(5, "request")}not JSON\n${line(9, "request").slice(0, 20)}`);
writeFileSync(join(folder, "two.log"), line(4, "request"));
writeFileSync(join(folder, "three.log"), line(4, "request"));

const pattern = '{ $.message = "request" }';
const seconds = (found: ReturnType<RequestLogs["filter"]>) =>
  found.events.map(({ timestamp }) => new Date(timestamp).getUTCSeconds());

describe("FilterLogEvents", () => {
  it("finds what the functions of a group wrote, in the order of time, and no line that is still being written", () => {
    const found = logs.filter({ logGroupName: "requests", filterPattern: pattern });
    expect(seconds(found)).toEqual([1, 4, 5]);
    expect(found).not.toHaveProperty("nextToken");
    expect(seconds(logs.filter({ logGroupName: "requests" }))).toEqual([1, 3, 4, 5]);
  });

  it("takes both ends of a time as they are, as CloudWatch does", () => {
    const ends = { startTime: Date.parse(at(4)), endTime: Date.parse(at(5)) };
    expect(seconds(logs.filter({ logGroupName: "requests", ...ends }))).toEqual([4, 5]);
    expect(seconds(logs.filter({ logGroupName: "requests", ...ends, endTime: ends.endTime - 1 }))).toEqual([4]);
  });

  it("returns a megabyte at a time, and each event once, also when the files were rotated in between", () => {
    const long = "x".repeat(250_000);
    writeFileSync(
      join(folder, "three.log"),
      Array.from({ length: 9 }, (_, second) => line(second, "request", `${second}${long}`)).join(""),
    );
    const found: number[] = [];
    let nextToken: string | undefined;
    do {
      const page = logs.filter({ logGroupName: "others", ...(nextToken !== undefined && { nextToken }) });
      expect(page.events.length).toBeLessThanOrEqual(3);
      found.push(...seconds(page));
      nextToken = page.nextToken;
      if (found.length === 3) {
        writeFileSync(join(folder, "three.log.1"), line(0, "request"));
      }
    } while (nextToken !== undefined);
    expect(found).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it("finds lines that match any of several comparisons", () => {
    const either = '{ ($.message = "request") || ($.message = "The sweep recovered work.") }';
    expect(seconds(logs.filter({ logGroupName: "requests", filterPattern: either }))).toEqual([1, 3, 4, 5]);
    const other = '{ ($.message = "none") || ($.message = "The sweep recovered work.") }';
    expect(seconds(logs.filter({ logGroupName: "requests", filterPattern: other }))).toEqual([3]);
  });

  it("refuses what it does not know", () => {
    expect(() => logs.filter({ logGroupName: "none" })).toThrow("The specified log group does not exist.");
    expect(() => logs.filter({ logGroupName: "others", interleaved: true })).toThrow("interleaved");
    const term = '$.message = "request"';
    for (const filterPattern of [
      "request",
      `{ ${term} && ${term} }`,
      `{ ${term} || ${term} }`,
      `(${term}) || (${term})`,
    ]) {
      expect(() => logs.filter({ logGroupName: "others", filterPattern })).toThrow("filter pattern");
    }
  });
});
