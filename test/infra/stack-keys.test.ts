import { describe, expect, test } from "vitest";
import { stages } from "../../shared/routes/route.ts";
import { at, lines, list, ofType } from "./assembly.ts";
import { synthesized } from "./stack-cases.ts";

describe("the table of the keys of persons", () => {
  test.each(stages)("has no copy of any kind in %s: no backups, no stream, no expiry", (stage) => {
    const tables = ofType(synthesized(stage), "AWS::DynamoDB::GlobalTable");
    const [keys, ...others] = tables.filter(({ logicalId }) => /TablesKeys/.test(logicalId));
    expect([others, tables.length]).toEqual([[], 3]);
    const [here, ...copies] = list(keys?.properties["Replicas"]);
    expect([at(here, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"), copies]).toEqual([false, []]);
    for (const name of ["StreamSpecification", "TimeToLiveSpecification", "GlobalSecondaryIndexes"]) {
      expect([name, keys?.properties[name]]).toEqual([name, undefined]);
    }
    const isKept = stage === "production";
    expect(at(here, "DeletionProtectionEnabled")).toBe(isKept);
    expect(keys?.resource.DeletionPolicy).toBe(isKept ? "Retain" : "Delete");
    expect(ofType(synthesized(stage), "AWS::Backup::BackupPlan")).toEqual([]);
  });

  test.each(stages)("is read by what shows the audit, and changed by provisioning alone, in %s", (stage) => {
    const rights = ofType(synthesized(stage), "AWS::IAM::Role").flatMap((role) => {
      const own = lines(role).filter((line) => / keys\b/.test(line));
      return own.map((line) => `${role.logicalId.replace(/Role[0-9A-F]+$/, "")} ${line.split(" ")[1]}`);
    });
    expect(rights.toSorted()).toEqual([
      "CreateClient dynamodb:PutItem",
      "CreateOperator dynamodb:PutItem",
      "GetAuditEntry dynamodb:BatchGetItem",
      "ListAuditEntries dynamodb:BatchGetItem",
      "Provision dynamodb:PutItem",
      "Provision dynamodb:UpdateItem",
    ]);
    const knowing = ofType(synthesized(stage), "AWS::Lambda::Function").filter(
      ({ properties }) => at(properties["Environment"], "Variables", "KEY_TABLE_NAME") !== undefined,
    );
    const names = ["create-client", "create-operator", "get-audit-entry", "list-audit-entries", "provision"];
    expect(knowing.map(({ properties }) => properties["FunctionName"]).toSorted()).toEqual(
      names.map((name) => `brokerage-${stage}-${name}`),
    );
  });
});
