import { eraseSid } from "../constructs/grants.ts";
import { ledgerKeys } from "../constructs/key-patterns.ts";
import { functionName } from "../stages.ts";
import {
  type Assembly,
  type Entry,
  holdsKeys,
  isVolatile,
  type Json,
  type JsonObject,
  listOf,
  objectOf,
  ofType,
  resourceOf,
  targetOf,
} from "./assembly.ts";
import { type Finding, finding, type Rule } from "./rule.ts";

/** A statement of a policy. */
export interface Statement {
  readonly entry: Entry;
  readonly effect: Json;
  readonly actions: readonly string[];
  readonly resources: readonly Json[];
  readonly condition: JsonObject;
}

const policyTypes = ["AWS::IAM::Role", "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"];

/** Statements of a role's own policies, or of a policy that is attached to roles. */
export function statementsOf(entry: Entry): Statement[] {
  const inline = listOf(entry.properties["Policies"]).map((policy) => objectOf(policy)["PolicyDocument"]);
  const documents = entry.resource.Type === "AWS::IAM::Role" ? inline : [entry.properties["PolicyDocument"]];
  return documents
    .flatMap((document) => listOf(objectOf(document)["Statement"]))
    .map(objectOf)
    .map((statement) => ({
      entry,
      effect: statement["Effect"],
      actions: listOf(statement["Action"]).map(String),
      resources: listOf(statement["Resource"]),
      condition: objectOf(statement["Condition"]),
    }));
}

function allStatements(assembly: Assembly): Statement[] {
  return assembly.entries.filter(({ resource }) => policyTypes.includes(resource.Type)).flatMap(statementsOf);
}

/** Actions on DynamoDB that read the stream; they know no leading keys. */
const streamActions = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"].map((a) => `dynamodb:${a}`);

function mayTouchTables(action: string): boolean {
  return action === "*" || (action.startsWith("dynamodb:") && !streamActions.includes(action));
}

/** No role reads a table from one end to the other, by whatever name: Scan, PartiQL, exports, or a wildcard. */
const scans: Rule = (assembly) =>
  allStatements(assembly)
    .filter(({ effect }) => effect === "Allow")
    .flatMap(({ entry, actions }) =>
      actions
        .filter((action) => mayTouchTables(action) && /\*|Scan|PartiQL|Export/.test(action))
        .map((action) => finding("scan-grant", entry, `The role may ${action}.`)),
    );

/** Every right on a table is bound to partitions; where the stage does without, no statement speaks of them. */
const leadingKeys: Rule = (assembly, options) =>
  options.leadingKeys ? unboundRights(assembly) : leftoverConditions(assembly);

function leftoverConditions(assembly: Assembly): Finding[] {
  return allStatements(assembly)
    .filter(({ condition }) => JSON.stringify(condition).includes("dynamodb:LeadingKeys"))
    .map(({ entry, actions }) => finding("leading-keys", entry, `${actions.join(", ")} still on leading keys.`));
}

function unboundRights(assembly: Assembly): Finding[] {
  return allStatements(assembly)
    .filter(({ effect, actions }) => effect === "Allow" && actions.some(mayTouchTables))
    .filter(({ condition }) => {
      const patterns = listOf(objectOf(condition["ForAllValues:StringLike"])["dynamodb:LeadingKeys"]).map(String);
      return patterns.length === 0 || patterns.some((pattern) => pattern.startsWith("*"));
    })
    .map(({ entry, actions }) => finding("leading-keys", entry, `${actions.join(", ")} on any partition.`));
}

/** A role that can change or delete items of a kept table is denied the ledger, except for the sandbox's reset. */
const ledgerDenials: Rule = (assembly, options) =>
  assembly.entries.flatMap((entry) => {
    const { stage } = options;
    if (!options.leadingKeys || !policyTypes.includes(entry.resource.Type)) return [];
    if (stage === "sandbox" && JSON.stringify(entry.properties).includes(`"Sid":"${eraseSid}"`)) return [];
    const statements = statementsOf(entry);
    const changes = ["dynamodb:UpdateItem", "dynamodb:DeleteItem"];
    const tables = statements
      .filter(({ effect, actions }) => effect === "Allow" && actions.some((action) => changes.includes(action)))
      .flatMap(({ resources }) => resources.map((resource) => targetOf(assembly, resource)));
    const kept = [...new Set(tables)].filter((id) => {
      const table = ofType(assembly, "AWS::DynamoDB::GlobalTable").find(({ logicalId }) => logicalId === id);
      return table === undefined || !(isVolatile(table) || holdsKeys(table));
    });
    return kept.flatMap((id) => {
      const denied = statements.some(
        ({ effect, actions, resources, condition }) =>
          effect === "Deny" &&
          changes.every((action) => actions.includes(action)) &&
          resources.some((resource) => targetOf(assembly, resource) === id) &&
          ledgerKeys.every((key) =>
            listOf(objectOf(condition["ForAnyValue:StringLike"])["dynamodb:LeadingKeys"]).includes(key),
          ),
      );
      return denied ? [] : [finding("ledger-denial", entry, `The role may change the ledger in ${id}.`)];
    });
  });

/**
 * One function without a route keeps the users who sign in: a request must not make a user, nor let one in again. A
 * right on users is on one pool, never on any of the account.
 */
const poolRights: Rule = (assembly, { stage, routes }) => {
  const behindRoutes = new Set(routes.map(({ id }) => functionName(stage, id)));
  const requested = ofType(assembly, "AWS::Lambda::Function").filter(({ properties }) =>
    behindRoutes.has(String(properties["FunctionName"])),
  );
  const roles = new Set(
    requested.map(({ template, properties }) => `${template} ${targetOf(assembly, properties["Role"])}`),
  );
  return allStatements(assembly)
    .filter(({ effect, actions }) => effect === "Allow" && actions.some((one) => one.startsWith("cognito-idp:")))
    .flatMap(({ entry, actions, resources }) => [
      ...(roles.has(`${entry.template} ${entry.logicalId}`)
        ? [finding("pool-grant", entry, `A function behind a route may ${actions.join(", ")}.`)]
        : []),
      ...(resources.every((one) => resourceOf(assembly, "AWS::Cognito::UserPool", one) !== undefined)
        ? []
        : [finding("pool-grant", entry, `${actions.join(", ")} on more than the pool.`)]),
    ]);
};

/** Rules of what roles may do with the tables and with the user pool. */
export const accessRules: readonly Rule[] = [scans, leadingKeys, ledgerDenials, poolRights];
