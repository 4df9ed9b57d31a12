import { createHash } from "node:crypto";
import { runSimulation, runUnsafeSimulation, type Simulation } from "@cloud-copilot/iam-simulate";
import { AssemblyError, type Placement, type Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";
import type { Grant } from "./grants.ts";

/** One thing that a role wants to do. */
export interface Access {
  /** `dynamodb:PutItem` */
  readonly action: string;
  /** ARN, or `*` for actions that know no resource. */
  readonly resource: string;
  /** Partition keys that a DynamoDB request touches, in any order. */
  readonly leading_keys?: readonly string[];
  /** DynamoDB operation that the action is a member of. */
  readonly enclosing_operation?: string;
  /** Values of further condition keys, as the service gives them: tags of the request and of the resource. */
  readonly context?: Readonly<Record<string, string | readonly string[]>> | undefined;
}

/** Decision of the policies of a role. */
export interface Decision {
  readonly allowed: boolean;
  /** Whether a statement denies it, beside none allowing it. */
  readonly denied: boolean;
  /** Sids of the statements that allow it, or numbers for statements without one. */
  readonly statements: readonly string[];
}

interface Role {
  readonly arn: string;
  readonly name: string;
  readonly policies: { readonly name: string; readonly policy: Record<string, unknown> }[];
  /**
   * Patterns of leading keys in any condition; undefined when a decision may depend on more than which of them match.
   */
  readonly keyPatterns: readonly RegExp[] | undefined;
  /** Stands for its name and for what its policies say. */
  readonly digest: string;
}

/**
 * Decisions by all that they depend on. A simulation takes some milliseconds, and the stacks that one process starts
 * after each other, as tests do, have the same roles.
 */
const simulations = new Map<string, Promise<Decision>>();

/** Condition keys that this runner gives a value. A policy that asks for another one would be decided wrongly. */
const knownContext = new Set([
  ...["dynamodb:leadingkeys", "dynamodb:enclosingoperation", "aws:securetransport"],
  "s3:if-none-match",
]);
/** Condition keys about tags, which have a value in calls to the control plane of API Gateway alone. */
const tagKeys = /^aws:(?:requesttag\/|resourcetag\/|tagkeys$)/i;
/** Operators of which only the result of each pattern matters. */
const patternOperators = /^(?:ForAllValues:|ForAnyValue:)?String(?:Not)?(?:Equals|Like)(?:IfExists)?$/;

/**
 * Decides whether a function's role allows a call, by the policies of the template. Decisions are kept by function,
 * action, resource and by which key patterns of the role the leading keys match, since nothing else differs between two
 * calls.
 */
export class Permissions {
  private readonly placement: Placement;
  private readonly roles = new Map<string, Role>();
  /** Policies of queues and buckets by the ARN of what they belong to. */
  private readonly resourcePolicies: ReadonlyMap<string, Policy>;
  private readonly used = new Map<string, Grant>();
  /** Decisions that had to be simulated, for measuring. */
  simulated = 0;
  /** Stands for the account and for what the policies of resources say. */
  private readonly digest: string;

  /** Throws an AssemblyError for a role that this runner cannot decide for. */
  constructor(resources: readonly Resource[], placement: Placement) {
    this.placement = placement;
    for (const resource of resources) {
      if (resource.type === "AWS::IAM::Role") this.roles.set(resource.attributes["Arn"] ?? "", readRole(resource));
    }
    this.resourcePolicies = new Map([...readQueuePolicies(resources), ...readBucketPolicies(resources)]);
    this.digest = digestOf([placement.account_id, ...this.resourcePolicies]);
  }

  /** Decides for a role; `user` is the function's name, which grants are recorded under. */
  async decide(roleArn: string, user: string, access: Access): Promise<Decision> {
    const role = this.roles.get(roleArn);
    if (role === undefined) throw new Error(`There is no role ${roleArn}.`);
    const key = cacheKey(role, user, access);
    const full = key === undefined ? undefined : `${this.digest} ${role.digest} ${key}`;
    const known = full === undefined ? undefined : simulations.get(full);
    const pending = known ?? this.simulate(role, user, access);
    if (full !== undefined && known === undefined) simulations.set(full, pending);
    const decision = await pending;
    if (decision.allowed) this.record(user, access, decision);
    return decision;
  }

  /** Allowed calls since the start: one entry per function, action, resource and statement. */
  grantsUsed(): Grant[] {
    return [...this.used.values()];
  }

  /** Every action of every allowing statement of the functions' roles, as written. */
  grants(functions: readonly { readonly name: string; readonly role_arn: string }[]): Grant[] {
    return functions.flatMap(({ name, role_arn }) => {
      const role = this.roles.get(role_arn);
      const statements = role === undefined ? [] : numbered(role);
      return statements.flatMap(({ id, statement }) => {
        if (statement["Effect"] !== "Allow") return [];
        return texts(statement["Action"]).flatMap((action) =>
          texts(statement["Resource"]).map((resource) => ({ function: name, action, resource, statement: id })),
        );
      });
    });
  }

  /** The text of AWS for a call that is not allowed. */
  refusal(roleArn: string, user: string, access: Access, decision: Decision): string {
    const { action, resource } = access;
    const why = decision.denied
      ? "with an explicit deny in an identity-based policy"
      : `because no identity-based policy allows the ${action} action`;
    const principal = this.principal(this.roles.get(roleArn)?.name ?? roleArn, user);
    return `User: ${principal} is not authorized to perform: ${action} on resource: ${resource} ${why}`;
  }

  private principal(roleName: string, user: string): string {
    return `arn:aws:sts::${this.placement.account_id}:assumed-role/${roleName}/${user}`;
  }

  private async simulate(role: Role, user: string, access: Access): Promise<Decision> {
    this.simulated += 1;
    const { action, resource, leading_keys, enclosing_operation, context } = access;
    // The policy of a bucket is also that of its objects.
    const owner = resource.startsWith("arn:aws:s3:::") ? (resource.split("/")[0] ?? "") : resource;
    const resourcePolicy = this.resourcePolicies.get(owner);
    const simulation: Simulation = {
      request: {
        principal: this.principal(role.name, user),
        action,
        resource: { resource, accountId: this.placement.account_id },
        contextVariables: {
          // The loopback stands for the TLS connection that a function has on AWS.
          "aws:SecureTransport": "true",
          ...(leading_keys !== undefined && { "dynamodb:LeadingKeys": [...leading_keys] }),
          ...(enclosing_operation !== undefined && { "dynamodb:EnclosingOperation": enclosing_operation }),
          ...(context as Record<string, string | string[]> | undefined),
        },
      },
      identityPolicies: role.policies.map(({ name, policy }) => ({ name, policy })),
      serviceControlPolicies: [],
      resourceControlPolicies: [],
      ...(resourcePolicy !== undefined && { resourcePolicy }),
    };
    const result = await runSimulation(simulation, {});
    if (result.resultType === "single") return decisionOf(result.result.analysis);
    // An action without resource types may still be granted on an ARN, which the checks before a simulation refuse.
    if (result.resultType === "error" && result.errors.message === "must.use.wildcard") {
      return unsafeDecision(simulation, role);
    }
    // An asterisk in an ARN that a service asks for stands for itself, which those checks take for a pattern.
    if (result.resultType !== "error") return unsafeDecision(simulation, role);
    const message = JSON.stringify(result.errors);
    throw new Error(`The simulator cannot decide ${action} on ${resource} for ${role.name}: ${message}`);
  }

  private record(user: string, { action, resource }: Access, { statements }: Decision): void {
    for (const statement of statements) {
      const grant = { function: user, action, resource, statement };
      this.used.set(JSON.stringify(grant), grant);
    }
  }
}

type Analysis = Extract<Awaited<ReturnType<typeof runSimulation>>, { resultType: "single" }>["result"]["analysis"];

function decisionOf(analysis: Analysis): Decision {
  const statements = analysis.identityAnalysis?.allowStatements ?? [];
  return {
    allowed: analysis.result === "Allowed",
    denied: analysis.result === "ExplicitlyDenied",
    statements: statements.map(({ statement }) => statement.sid() ?? String(statement.index())),
  };
}

function unsafeDecision(simulation: Simulation, role: Role): Decision {
  const result = runUnsafeSimulation(simulation, {});
  const allowing = numbered(role).filter(({ statement }) => {
    return statement["Effect"] === "Allow" && texts(statement["Action"]).includes(simulation.request.action);
  });
  return {
    allowed: result === "Allowed",
    denied: result === "ExplicitlyDenied",
    statements: allowing.map(({ id }) => id),
  };
}

/** The statements of a role, each with its sid, or its number in its policy. */
function numbered(role: Role): { readonly id: string; readonly statement: Readonly<Record<string, unknown>> }[] {
  return role.policies.flatMap(({ policy }) =>
    statementsOf(policy).map((statement, at) => ({ id: String(statement["Sid"] ?? at + 1), statement })),
  );
}

/** Everything that a decision depends on; undefined when it may depend on more. */
function cacheKey(role: Role, user: string, access: Access): string | undefined {
  const { action, resource, leading_keys, enclosing_operation, context } = access;
  if (leading_keys === undefined) return JSON.stringify([user, action, resource, enclosing_operation, context]);
  const { keyPatterns } = role;
  if (keyPatterns === undefined) return undefined;
  const shapes = leading_keys.map((key) => keyPatterns.map((pattern) => (pattern.test(key) ? 1 : 0)).join(""));
  return JSON.stringify([user, action, resource, enclosing_operation, [...new Set(shapes)].sort()]);
}

function readRole(resource: Resource): Role {
  const { properties, path, attributes, physical_id } = resource;
  const inline = Array.isArray(properties["Policies"]) ? properties["Policies"] : [];
  const policies = inline.map((entry: unknown) => {
    const policy = isRecord(entry) ? entry["PolicyDocument"] : undefined;
    if (!isRecord(entry) || !isRecord(policy)) throw new AssemblyError(path, "a policy of the role has no document");
    return { name: String(entry["PolicyName"]), policy };
  });
  const conditions = policies.flatMap(({ policy }) => statementsOf(policy).flatMap(conditionsOf));
  refuseUnknownContext(path, conditions);
  const keyPatterns = patternsOf(conditions);
  return {
    arn: attributes["Arn"] ?? "",
    name: physical_id,
    policies,
    keyPatterns,
    digest: digestOf([physical_id, policies]),
  };
}

type Policy = Readonly<Record<string, unknown>>;

/**
 * Policies of buckets by ARN. A statement for a service of AWS, under conditions that only that service meets, is left
 * out: it decides nothing about a role.
 */
function readBucketPolicies(resources: readonly Resource[]): Map<string, Policy> {
  const policies = new Map<string, Policy>();
  for (const { type, properties, path } of resources) {
    if (type !== "AWS::S3::BucketPolicy") continue;
    const { PolicyDocument: policy, Bucket: name } = properties;
    const bucket = resources.find((each) => each.type === "AWS::S3::Bucket" && each.physical_id === name);
    if (!isRecord(policy)) throw new AssemblyError(path, "the policy has no document");
    if (bucket === undefined) throw new AssemblyError(path, `the bucket ${String(name)} is not in the template`);
    const forRoles = statementsOf(policy).filter(({ Effect, Principal: who }) => {
      return Effect !== "Allow" || !isRecord(who) || Object.keys(who).join() !== "Service";
    });
    refuseUnknownContext(path, forRoles.flatMap(conditionsOf));
    if (forRoles.length > 0) policies.set(bucket.attributes["Arn"] ?? "", { ...policy, Statement: forRoles });
  }
  return policies;
}

function readQueuePolicies(resources: readonly Resource[]): Map<string, Policy> {
  const policies = new Map<string, Policy>();
  for (const { type, properties, path } of resources) {
    if (type !== "AWS::SQS::QueuePolicy") continue;
    const { PolicyDocument: policy, Queues: urls } = properties;
    if (!isRecord(policy)) throw new AssemblyError(path, "the policy has no document");
    refuseUnknownContext(path, statementsOf(policy).flatMap(conditionsOf));
    for (const url of texts(urls)) {
      const queue = resources.find(({ physical_id }) => physical_id === url);
      if (queue === undefined) throw new AssemblyError(path, `the queue ${url} is not in the template`);
      policies.set(queue.attributes["Arn"] ?? "", policy);
    }
  }
  return policies;
}

interface Condition {
  /** Actions of the statement that it belongs to. */
  readonly actions: readonly string[];
  readonly operator: string;
  readonly key: string;
  readonly values: readonly string[];
}

function statementsOf(policy: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>[] {
  const statements = policy["Statement"];
  return (Array.isArray(statements) ? statements : [statements]).filter((one: unknown) => isRecord(one));
}

function conditionsOf(statement: Readonly<Record<string, unknown>>): Condition[] {
  const { Condition: condition, Action: action } = statement;
  const actions = texts(action);
  return Object.entries(isRecord(condition) ? condition : {}).flatMap(([operator, byKey]) =>
    Object.entries(isRecord(byKey) ? byKey : {}).map(([key, values]) => ({
      actions,
      operator,
      key,
      values: texts(values),
    })),
  );
}

function refuseUnknownContext(path: string, conditions: readonly Condition[]): void {
  const unknown = conditions.find(({ key, actions }) => {
    const onTags = tagKeys.test(key) && actions.every((action) => action.startsWith("apigateway:"));
    return !onTags && !knownContext.has(key.toLowerCase());
  });
  if (unknown === undefined) return;
  throw new AssemblyError(path, `a policy asks for ${unknown.key}, which the local runner gives no value`);
}

function patternsOf(conditions: readonly Condition[]): RegExp[] | undefined {
  const onKeys = conditions.filter(({ key }) => key.toLowerCase() === "dynamodb:leadingkeys");
  const plain = onKeys.every(
    ({ operator, values }) => patternOperators.test(operator) && !values.some((value) => value.includes("${")),
  );
  if (!plain) return undefined;
  return [...new Set(onKeys.flatMap(({ values }) => values))].map((pattern) => {
    const source = pattern
      .replace(/[.+^${}()|[\]\\]/g, "\\$&")
      .replaceAll("*", ".*")
      .replaceAll("?", ".");
    return new RegExp(`^${source}$`, "s");
  });
}

function digestOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64");
}

function texts(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map(String);
}
