import type { Route, Stage } from "../shared/routes/route.ts";
import { eraseSid, ledgerKeys } from "./constructs/grants.ts";
import { volatileTag } from "./constructs/table.ts";

/** A resource of a synthesized template. */
export interface TemplateResource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
  readonly DependsOn?: string | readonly string[];
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

/** A synthesized template: the part that the rules read. */
export interface Template {
  readonly Resources: Readonly<Record<string, TemplateResource>>;
}

/** A template and the name of its file. */
export interface NamedTemplate {
  readonly name: string;
  readonly template: Template;
}

/** What the rules compare the templates with. */
export interface CheckOptions {
  readonly stage: Stage;
  readonly routes: readonly Pick<Route, "method" | "path" | "auth">[];
  /** Whether the stage binds rights to partitions (ADR 0030); every role does, or none. */
  readonly leadingKeys: boolean;
}

/** A defect: which rule, in which template, at which resource. */
export interface Finding {
  readonly rule: string;
  readonly template: string;
  readonly logicalId: string;
  readonly message: string;
}

/** One template holds 500 resources; the rest is left for the next endpoints. */
export const maxResources = 450;

/** CloudFormation takes templates of 1 MB; a page below that is left for the upload's own additions. */
export const maxTemplateBytes = 1_000_000;

/** Settings that exist for one machine only: they open, or stretch, what is bounded in the cloud. */
const localSettings = ["BROKERAGE_LOCAL", "BUDGET_FACTOR", "WEBHOOK_ALLOW_CIDRS"] as const;

/** AWS asks for a visibility timeout of six function timeouts, so that a retried batch is not delivered twice. */
const visibilityTimeouts = 6;

type Json = unknown;
type JsonObject = Readonly<Record<string, Json>>;

/** A resource with its place. */
interface Entry {
  readonly template: string;
  readonly logicalId: string;
  readonly resource: TemplateResource;
  readonly properties: JsonObject;
}

/** All resources of an assembly, and what the parameters of nested stacks stand for. */
interface Assembly {
  readonly entries: readonly Entry[];
  readonly byType: ReadonlyMap<string, Entry[]>;
  readonly parameters: ReadonlyMap<string, Json>;
}

type Rule = (assembly: Assembly, options: CheckOptions) => Finding[];

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectOf(value: Json): JsonObject {
  return isObject(value) ? value : {};
}

function listOf(value: Json): readonly Json[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function indexAssembly(templates: readonly NamedTemplate[]): Assembly {
  const entries = templates.flatMap(({ name, template }) =>
    Object.entries(template.Resources).map(([logicalId, resource]) => ({
      template: name,
      logicalId,
      resource,
      properties: resource.Properties ?? {},
    })),
  );
  const nested = entries.filter(({ resource }) => resource.Type === "AWS::CloudFormation::Stack");
  // The library names a parameter after what it refers to, so one name means the same in every nested stack.
  const parameters = new Map(nested.flatMap(({ properties }) => Object.entries(objectOf(properties["Parameters"]))));
  return { entries, byType: groupBy(entries, ({ resource }) => resource.Type), parameters };
}

function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}

function ofType(assembly: Assembly, type: string): readonly Entry[] {
  return assembly.byType.get(type) ?? [];
}

function finding(rule: string, entry: Entry, message: string): Finding {
  return { rule, template: entry.template, logicalId: entry.logicalId, message };
}

/** Logical id that a `Ref` or `GetAtt` leads to, through the parameter of a nested stack where there is one. */
function targetOf(assembly: Assembly, value: Json): string | undefined {
  const expression = objectOf(value);
  const ref = expression["Ref"];
  if (typeof ref === "string") {
    const parameter = assembly.parameters.get(ref);
    return parameter === undefined ? ref : targetOf(assembly, parameter);
  }
  const [logicalId] = listOf(expression["Fn::GetAtt"]);
  return typeof logicalId === "string" ? logicalId : undefined;
}

/**
 * The resource of a type that an expression leads to. One in `template` that names no parameter means that template
 * alone: two nested stacks may use the same logical id.
 */
function resourceOf(assembly: Assembly, type: string, value: Json, template?: string): Entry | undefined {
  const target = targetOf(assembly, value);
  const ref = objectOf(value)["Ref"];
  const passed = typeof ref === "string" && assembly.parameters.has(ref);
  const here = passed ? undefined : template;
  return ofType(assembly, type).find(
    (entry) => entry.logicalId === target && (here === undefined || entry.template === here),
  );
}

interface Statement {
  readonly entry: Entry;
  readonly effect: Json;
  readonly actions: readonly string[];
  readonly resources: readonly Json[];
  readonly condition: JsonObject;
}

/** Statements of a role's own policies, or of a policy that is attached to roles. */
function statementsOf(entry: Entry): Statement[] {
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

const policyTypes = ["AWS::IAM::Role", "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"];

function allStatements(assembly: Assembly): Statement[] {
  return assembly.entries.filter(({ resource }) => policyTypes.includes(resource.Type)).flatMap(statementsOf);
}

/** Path of a REST resource: its own part behind that of its parent. */
function pathOf(assembly: Assembly, resourceId: Json, template: string): string {
  const resource = resourceOf(assembly, "AWS::ApiGateway::Resource", resourceId, template);
  if (resource === undefined) return "";
  const parent = pathOf(assembly, resource.properties["ParentId"], resource.template);
  return `${parent}/${String(resource.properties["PathPart"])}`;
}

interface ApiMethod {
  readonly entry: Entry;
  readonly method: string;
  readonly path: string;
  readonly mock: boolean;
}

function methodsOf(assembly: Assembly): ApiMethod[] {
  return ofType(assembly, "AWS::ApiGateway::Method").map((entry) => ({
    entry,
    method: String(entry.properties["HttpMethod"]),
    path: pathOf(assembly, entry.properties["ResourceId"], entry.template) || "/",
    mock: objectOf(entry.properties["Integration"])["Type"] === "MOCK",
  }));
}

/** Only rows that are open on purpose, and the 405 of a path, go without an authorizer and an API key. */
const openMethods: Rule = (assembly, { routes }) =>
  methodsOf(assembly).flatMap(({ entry, method, path, mock }) => {
    if (mock && method === "ANY") return [];
    const row = routes.find((route) => route.method === method && route.path === path);
    if (row === undefined) return [finding("unknown-method", entry, `No row has ${method} ${path}.`)];
    if (row.auth === "none") return [];
    const { AuthorizationType: type, AuthorizerId: authorizer, ApiKeyRequired: key } = entry.properties;
    const known = resourceOf(assembly, "AWS::ApiGateway::Authorizer", authorizer) !== undefined;
    return [
      ...(type === "CUSTOM" && known ? [] : [finding("open-method", entry, `${method} ${path} has no authorizer.`)]),
      ...(key === true ? [] : [finding("unmetered-method", entry, `${method} ${path} asks for no API key.`)]),
    ];
  });

/** Every path that has methods answers the others with 405, and `Allow` lists exactly those it has. */
const methodNotAllowed: Rule = (assembly) => {
  const byPath = groupBy(methodsOf(assembly), ({ path }) => path);
  return [...byPath].flatMap(([path, methods]) => {
    const allowed = methods.filter(({ mock }) => !mock).map(({ method }) => method);
    const any = methods.find(({ method, mock }) => mock && method === "ANY");
    const first = methods[0];
    if (first === undefined) return [];
    if (any === undefined) return [finding("no-405", first.entry, `${path} has no method that answers 405.`)];
    const response = objectOf(listOf(objectOf(any.entry.properties["Integration"])["IntegrationResponses"])[0]);
    const allow = objectOf(response["ResponseParameters"])["method.response.header.Allow"];
    const expected = `'${allowed.sort().join(", ")}'`;
    if (response["StatusCode"] === "405" && allow === expected) return [];
    return [finding("no-405", any.entry, `${path} must answer 405 with Allow ${expected}.`)];
  });
};

/** A plan that names a stage or a method which does not exist throttles nothing. */
const danglingPlans: Rule = (assembly) =>
  ofType(assembly, "AWS::ApiGateway::UsagePlan").flatMap((entry) => {
    const stages = listOf(entry.properties["ApiStages"]).map(objectOf);
    if (stages.length === 0) return [finding("dangling-plan", entry, "The plan has no stage.")];
    const known = new Set(methodsOf(assembly).map(({ method, path }) => `${path}/${method}`));
    return stages.flatMap((stage) => {
      const exists = resourceOf(assembly, "AWS::ApiGateway::Stage", stage["Stage"]) !== undefined;
      const unknown = Object.keys(objectOf(stage["Throttle"])).filter((key) => !known.has(key));
      return [
        ...(exists ? [] : [finding("dangling-plan", entry, "The plan names a stage that does not exist.")]),
        ...unknown.map((key) => finding("dangling-plan", entry, `The plan throttles ${key}, which does not exist.`)),
      ];
    });
  });

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

function isVolatile(table: Entry): boolean {
  const tags = listOf(table.properties["Tags"]).map(objectOf);
  return tags.some((tag) => tag["Key"] === volatileTag.key && tag["Value"] === volatileTag.value);
}

/** Whoever may change or delete items of a kept table is denied the ledger; the sandbox's reset removes it. */
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
      const table = ofType(assembly, "AWS::DynamoDB::Table").find(({ logicalId }) => logicalId === id);
      return table === undefined || !isVolatile(table);
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

function mappingsOf(assembly: Assembly, lambda: Entry): Entry[] {
  return ofType(assembly, "AWS::Lambda::EventSourceMapping").filter(
    ({ properties }) => targetOf(assembly, properties["FunctionName"]) === lambda.logicalId,
  );
}

/** A queue hides a message for six timeouts of the function that reads it. */
const queueVisibility: Rule = (assembly) =>
  ofType(assembly, "AWS::Lambda::Function").flatMap((lambda) =>
    mappingsOf(assembly, lambda).flatMap(({ properties }) => {
      const queue = resourceOf(assembly, "AWS::SQS::Queue", properties["EventSourceArn"]);
      if (queue === undefined) return [];
      const needed = visibilityTimeouts * Number(lambda.properties["Timeout"] ?? 3);
      const visible = Number(queue.properties["VisibilityTimeout"] ?? 30);
      if (visible >= needed) return [];
      return [finding("queue-visibility", queue, `Visible again after ${visible} s; ${needed} s are needed.`)];
    }),
  );

/**
 * Reserved concurrency below what the event sources send at once only makes throttles, and without any the readers of
 * queues and the endpoints of the API take it from each other.
 */
const reservedConcurrency: Rule = (assembly) =>
  ofType(assembly, "AWS::Lambda::Function").flatMap((lambda) => {
    const mappings = mappingsOf(assembly, lambda);
    const reserved = lambda.properties["ReservedConcurrentExecutions"];
    if (reserved === undefined && !mappings.some((mapping) => queueOf(assembly, mapping) !== undefined)) return [];
    const needed = mappings
      .map(({ properties }) => Number(objectOf(properties["ScalingConfig"])["MaximumConcurrency"] ?? 0))
      .reduce((sum, maximum) => sum + maximum, 0);
    if (Number(reserved ?? 0) >= needed) return [];
    const text = `Reserved are ${Number(reserved ?? 0)}; its event sources need ${needed}.`;
    return [finding("reserved-concurrency", lambda, text)];
  });

/** The queue that a mapping reads; undefined for a stream. */
function queueOf(assembly: Assembly, mapping: Entry): Entry | undefined {
  return resourceOf(assembly, "AWS::SQS::Queue", mapping.properties["EventSourceArn"]);
}

/** One message that fails must not bring the others back, and one queue must not take every worker. */
const eventSources: Rule = (assembly) =>
  ofType(assembly, "AWS::Lambda::EventSourceMapping").flatMap((mapping) => {
    const { FunctionResponseTypes: responses, ScalingConfig: scaling } = mapping.properties;
    const reports = listOf(responses).includes("ReportBatchItemFailures");
    const bounded = objectOf(scaling)["MaximumConcurrency"] !== undefined || queueOf(assembly, mapping) === undefined;
    return [
      ...(reports ? [] : [finding("batch-failures", mapping, "One failure brings the whole batch back.")]),
      ...(bounded ? [] : [finding("unbounded-queue", mapping, "The queue may start any number of functions.")]),
    ];
  });

const defaultRetentionSeconds = 345_600;

/**
 * What cannot be read ends in a queue that keeps it longer than the one it comes from, since a message that is moved
 * there keeps its age.
 */
const deadLetters: Rule = (assembly) =>
  ofType(assembly, "AWS::Lambda::EventSourceMapping").flatMap((mapping) => {
    const queue = queueOf(assembly, mapping);
    if (queue === undefined) return [];
    const redrive = objectOf(queue.properties["RedrivePolicy"]);
    const dead = resourceOf(assembly, "AWS::SQS::Queue", redrive["deadLetterTargetArn"]);
    if (dead === undefined) return [finding("no-dead-letters", queue, "A message that crashes its reader comes back.")];
    const [kept, keptDead] = [queue, dead].map(({ properties }) =>
      Number(properties["MessageRetentionPeriod"] ?? defaultRetentionSeconds),
    );
    if (Number(keptDead) > Number(kept)) return [];
    return [finding("no-dead-letters", dead, `Kept for ${keptDead} s; the queue before keeps for ${kept} s.`)];
  });

/** Nobody reads a queue of failures but a person, whom an alarm calls. */
const silentQueues: Rule = (assembly) => {
  const mappings = ofType(assembly, "AWS::Lambda::EventSourceMapping");
  const read = new Set(mappings.map((mapping) => queueOf(assembly, mapping)?.logicalId));
  const watched = new Set(
    ofType(assembly, "AWS::CloudWatch::Alarm")
      .filter(({ properties }) => properties["MetricName"] === "ApproximateNumberOfMessagesVisible")
      .flatMap(({ properties }) => listOf(properties["Dimensions"]).map(objectOf))
      .map((dimension) => targetOf(assembly, dimension["Value"])),
  );
  return ofType(assembly, "AWS::SQS::Queue")
    .filter(({ logicalId }) => !read.has(logicalId) && !watched.has(logicalId))
    .map((queue) => finding("silent-queue", queue, "Nothing reads the queue, and no alarm tells what is in it."));
};

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
 * What production keeps must not obstruct its next creation. A failed first creation removes logs and secrets, and the
 * name of a log is generated: it outlives its function, and would stop the function from coming back under its own.
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

/** Production keeps its business tables whatever happens to the stack; the sandbox leaves nothing behind. */
const tableRetention: Rule = (assembly, { stage }) =>
  ofType(assembly, "AWS::DynamoDB::Table").flatMap((entry) => {
    const { DeletionPolicy: deletion, UpdateReplacePolicy: replace } = entry.resource;
    if (stage !== "production") {
      return deletion === "Delete" ? [] : [finding("table-retention", entry, "The sandbox would leave the table.")];
    }
    if (isVolatile(entry)) return [];
    const recovery = objectOf(entry.properties["PointInTimeRecoverySpecification"])["PointInTimeRecoveryEnabled"];
    const problems = [
      ...(deletion === "Retain" && replace === "Retain" ? [] : ["is not retained"]),
      ...(recovery === true ? [] : ["has no point-in-time recovery"]),
      ...(entry.properties["DeletionProtectionEnabled"] === true ? [] : ["has no deletion protection"]),
    ];
    return problems.map((problem) => finding("table-retention", entry, `The table ${problem}.`));
  });

/** DynamoDB refuses more than 20 projected attributes to an index and 100 to a table, and says so at the deployment. */
const projections: Rule = (assembly) =>
  ofType(assembly, "AWS::DynamoDB::Table").flatMap((entry) => {
    const counts = listOf(entry.properties["GlobalSecondaryIndexes"]).map((index) => ({
      name: String(objectOf(index)["IndexName"]),
      count: listOf(objectOf(objectOf(index)["Projection"])["NonKeyAttributes"]).length,
    }));
    const total = counts.reduce((sum, { count }) => sum + count, 0);
    const problems = [
      ...counts
        .filter(({ count }) => count > 20)
        .map(({ name, count }) => `index ${name} projects ${count} attributes`),
      ...(total > 100 ? [`indexes project ${total} attributes together`] : []),
    ];
    return problems.map((problem) => finding("index-projection", entry, `The ${problem}.`));
  });

/** Switches for one machine stay there; production also calls nothing without TLS. */
const localSwitches: Rule = (assembly, { stage }) =>
  assembly.entries.flatMap((entry) => {
    const text = JSON.stringify(entry.resource);
    const named = localSettings.filter((setting) => text.includes(setting));
    const variables = JSON.stringify(objectOf(entry.properties["Environment"])["Variables"] ?? {});
    const plain = stage === "production" && variables.includes("http://");
    return [
      ...named.map((setting) => finding("local-setting", entry, `${setting} is for one machine only.`)),
      ...(plain ? [finding("local-setting", entry, "An address in the environment goes without TLS.")] : []),
    ];
  });

/** Logical ids that a value of a template depends on. */
function references(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(references);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === "Ref" && typeof inner === "string") return [inner];
    if (key === "Fn::GetAtt") return listOf(inner).slice(0, 1).map(String);
    if (key === "Fn::Sub") {
      const [text] = listOf(inner);
      return [...String(text).matchAll(/\$\{([A-Za-z0-9]+)[.}]/g)].map((match) => match[1] ?? "");
    }
    return references(inner);
  });
}

/** CloudFormation refuses a template in which resources wait for each other in a circle. */
const cycles: Rule = (assembly) =>
  [...groupBy(assembly.entries, ({ template }) => template).values()].flatMap((entries) => {
    const waiting = new Map(
      entries.map((entry) => {
        const needs = [...references(entry.properties), ...listOf(entry.resource.DependsOn).map(String)];
        return [entry.logicalId, new Set(needs.filter((id) => id !== entry.logicalId))] as const;
      }),
    );
    let progress = true;
    while (progress) {
      const ready = [...waiting].filter(([, needs]) => ![...needs].some((id) => waiting.has(id)));
      for (const [logicalId] of ready) waiting.delete(logicalId);
      progress = ready.length > 0;
    }
    return entries
      .filter(({ logicalId }) => waiting.has(logicalId))
      .map((entry) => finding("cycle", entry, "The resource is in a circle of dependencies, or waits for one."));
  });

const rules: readonly Rule[] = [
  openMethods,
  methodNotAllowed,
  danglingPlans,
  scans,
  leadingKeys,
  ledgerDenials,
  queueVisibility,
  reservedConcurrency,
  eventSources,
  deadLetters,
  silentQueues,
  logRetention,
  keptNames,
  tableRetention,
  projections,
  localSwitches,
  cycles,
];

function sizes(templates: readonly NamedTemplate[]): Finding[] {
  return templates.flatMap(({ name, template }) => {
    const count = Object.keys(template.Resources).length;
    const bytes = Buffer.byteLength(JSON.stringify(template));
    const problems = [
      ...(count < maxResources ? [] : [`${count} resources; fewer than ${maxResources} are allowed`]),
      ...(bytes < maxTemplateBytes ? [] : [`${bytes} bytes; fewer than ${maxTemplateBytes} are allowed`]),
    ];
    return problems.map((problem) => ({
      rule: "template-size",
      template: name,
      logicalId: "",
      message: `The template has ${problem}.`,
    }));
  });
}

/** Every defect of the templates of one stage that neither CloudFormation's rules nor cdk-nag see. */
export function checkTemplates(templates: readonly NamedTemplate[], options: CheckOptions): Finding[] {
  const assembly = indexAssembly(templates);
  return [...rules.flatMap((rule) => rule(assembly, options)), ...sizes(templates)];
}
