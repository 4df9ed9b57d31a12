import { describe, expect, it } from "vitest";
import { type Grant, grantName, neverNeeded, unusedAmong } from "../../../infra/local/iam/grants.ts";

const grant = (given: Partial<Grant>): Grant => ({
  function: "writer",
  statement: "Put",
  action: "dynamodb:PutItem",
  resource: "arn:aws:dynamodb:eu-west-1:000000000000:table/test-Main",
  ...given,
});
const put = grant({});
const update = grant({ statement: "Update", action: "dynamodb:UpdateItem" });
const putByAnother = grant({ function: "checker" });
const onIndex = grant({ resource: `${put.resource}/index/due` });
const logs = grant({ statement: "Logs", action: "logs:PutLogEvents", resource: "*" });
const all = [put, update, putByAnother, onIndex, logs];

describe("grants among uses of several stacks", () => {
  it("are unused when no call used the same action of the same statement of the same function", () => {
    const used = new Set([grantName(put)]);
    expect(neverNeeded(all, used)).toEqual(["writer Update dynamodb:UpdateItem", "checker Put dynamodb:PutItem"]);
  });

  it("are unused when only another action of their statement was used", () => {
    const other = grant({ action: "dynamodb:DeleteItem" });
    expect(neverNeeded([put, other], new Set([grantName(put)]))).toEqual(["writer Put dynamodb:DeleteItem"]);
  });

  it("are named once, on however many resources", () => {
    expect(neverNeeded([put, onIndex], new Set())).toEqual(["writer Put dynamodb:PutItem"]);
  });

  it("are given a reason where nothing on this machine can use them, and are not asked for", () => {
    expect(unusedAmong([logs], new Set())).toEqual([{ ...logs, reason: expect.stringContaining("logs are files") }]);
    expect(neverNeeded([logs], new Set())).toEqual([]);
  });

  it("are all used by the uses of all stacks together", () => {
    const stacks = [[put], [update, put], [putByAnother]];
    expect(neverNeeded(all, new Set(stacks.flat().map(grantName)))).toEqual([]);
  });
});
