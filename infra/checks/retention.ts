import { holdsKeys, isVolatile, type JsonObject, objectOf, ofType, replicasOf, resourceOf } from "./assembly.ts";
import { finding, type Rule } from "./rule.ts";

/** No log is kept forever, and none is made by Lambda itself, which would keep it forever. */
const logRetention: Rule = (assembly) => [
  ...ofType(assembly, "AWS::Logs::LogGroup")
    .filter(({ properties }) => properties["RetentionInDays"] === undefined)
    .map((entry) => finding("log-retention", entry, "The log is kept forever.")),
  ...ofType(assembly, "AWS::Lambda::Function")
    .filter(({ properties }) => {
      const group = objectOf(properties["LoggingConfig"])["LogGroup"];
      return resourceOf(assembly, "AWS::Logs::LogGroup", group) === undefined;
    })
    .map((entry) => finding("log-retention", entry, "The function has no log group of its own.")),
];

/**
 * Kept resources must not obstruct the next creation. A failed first creation removes logs and secrets, and the name of
 * a log is generated: it outlives its function, and would stop the function from coming back under its own.
 */
const keptNames: Rule = (assembly, { stage }) =>
  ["AWS::Logs::LogGroup", "AWS::SecretsManager::Secret"].flatMap((type) =>
    ofType(assembly, type).flatMap((entry) => {
      const { DeletionPolicy: deletion = "Delete", UpdateReplacePolicy: replace } = entry.resource;
      if (stage !== "production" || deletion === "Delete") return [];
      const named = entry.properties["LogGroupName"] !== undefined;
      const problems = [
        ...(deletion === "RetainExceptOnCreate" ? [] : ["would be left by a failed creation"]),
        ...(replace === "Retain" ? [] : ["is not kept when it is replaced"]),
        ...(named ? ["has a fixed name and is kept"] : []),
      ];
      return problems.map((problem) => finding("kept-name", entry, `The resource ${problem}.`));
    }),
  );

/**
 * Production keeps its business tables whatever happens to the stack; the sandbox leaves nothing behind. The keys of
 * persons are kept without a copy in either.
 */
const tableRetention: Rule = (assembly, { stage }) =>
  ofType(assembly, "AWS::DynamoDB::GlobalTable").flatMap((entry) => {
    const { DeletionPolicy: deletion, UpdateReplacePolicy: replace } = entry.resource;
    const replicas = replicasOf(entry);
    const copied =
      replicas.length > 1 || replicas.some(recovers) || entry.properties["StreamSpecification"] !== undefined;
    if (holdsKeys(entry) && copied) return [finding("table-retention", entry, "There would be a copy of the keys.")];
    if (stage !== "production") {
      return deletion === "Delete" ? [] : [finding("table-retention", entry, "The sandbox would leave the table.")];
    }
    if (isVolatile(entry)) return [];
    const problems = [
      ...(deletion === "Retain" && replace === "Retain" ? [] : ["is not retained"]),
      ...(replicas.every(recovers) || holdsKeys(entry) ? [] : ["has no point-in-time recovery"]),
      ...(replicas.every((replica) => replica["DeletionProtectionEnabled"] === true)
        ? []
        : ["has no deletion protection"]),
    ];
    return problems.map((problem) => finding("table-retention", entry, `The table ${problem}.`));
  });

function recovers(replica: JsonObject): boolean {
  return objectOf(replica["PointInTimeRecoverySpecification"])["PointInTimeRecoveryEnabled"] === true;
}

/** Production keeps who signed in whatever happens to the stack: operators are bound to the users of their pool. */
const poolRetention: Rule = (assembly, { stage }) =>
  ofType(assembly, "AWS::Cognito::UserPool").flatMap((entry) => {
    const { DeletionPolicy: deletion, UpdateReplacePolicy: replace } = entry.resource;
    const isProtected = entry.properties["DeletionProtection"] === "ACTIVE";
    if (stage !== "production") {
      const left = deletion !== "Delete" || isProtected;
      return left ? [finding("pool-retention", entry, "The sandbox would leave the user pool.")] : [];
    }
    const problems = [
      ...(deletion === "Retain" && replace === "Retain" ? [] : ["is not retained"]),
      ...(isProtected ? [] : ["has no deletion protection"]),
      ...(objectOf(entry.properties["EmailConfiguration"])["EmailSendingAccount"] === "DEVELOPER"
        ? []
        : ["sends mail by Cognito, 50 a day"]),
    ];
    return problems.map((problem) => finding("pool-retention", entry, `The user pool ${problem}.`));
  });

/** Rules of what is kept, and of what must not obstruct the next creation. */
export const retentionRules: readonly Rule[] = [logRetention, keptNames, tableRetention, poolRetention];
