import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { AwsError } from "../aws-error.ts";
import { StateFile } from "../state-file.ts";
import { AssemblyError, type Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";

interface Version {
  readonly id: string;
  /** Absent while a rotation has announced the version and not yet made its value. */
  secret_string?: string;
  stages: string[];
  readonly created_ms: number;
}

interface Secret {
  readonly arn: string;
  readonly name: string;
  versions: Version[];
  rotation_enabled: boolean;
  last_rotated_ms: number | null;
}

type Body = Readonly<Record<string, unknown>>;

const current = "AWSCURRENT";
const pending = "AWSPENDING";
const previous = "AWSPREVIOUS";
/** Characters that Secrets Manager generates unless told otherwise. */
const generatedLength = 32;

/** Operations that this runner knows, all of them allowed by the action of the same name. */
export const secretOperations = [
  "GetSecretValue",
  "PutSecretValue",
  "DescribeSecret",
  "UpdateSecretVersionStage",
] as const;
type Operation = (typeof secretOperations)[number];

/** The secrets of the template, kept in one private file of the data folder. */
export class Secrets {
  private readonly file: StateFile<{ secrets: Secret[] }>;

  /** Makes the secrets that do not exist yet, with values as the template says. */
  constructor(resources: readonly Resource[], dataDir: string) {
    this.file = new StateFile(join(dataDir, "secrets.json"), { secrets: [] });
    for (const resource of resources) {
      if (resource.type === "AWS::SecretsManager::Secret") this.create(resource);
    }
  }

  /** ARN of a secret by its name or ARN, for the check of the call. Throws ResourceNotFoundException. */
  arnOf(secretId: unknown): string {
    return this.find(secretId).arn;
  }

  /** Does one operation and returns the body of the answer. Throws AwsErrors. */
  call(operation: Operation, body: Body): Record<string, unknown> {
    const secret = this.find(body["SecretId"]);
    switch (operation) {
      case "GetSecretValue":
        return this.get(secret, body);
      case "PutSecretValue":
        return this.put(secret, body);
      case "DescribeSecret":
        return this.describe(secret);
      case "UpdateSecretVersionStage":
        return this.moveStage(secret, body);
    }
  }

  /**
   * Resources with the values of secrets in the place of the references that a deployment resolves. Throws an
   * AssemblyError for another reference than to the whole current value.
   */
  resolved(resources: readonly Resource[]): readonly Resource[] {
    return resources.map((resource) => {
      const properties = filled(resource.properties, (text) => this.filledText(text, resource.path));
      return properties === resource.properties ? resource : { ...resource, properties };
    });
  }

  private filledText(text: string, path: string): string {
    return text.replace(/\{\{resolve:([^}]*)\}\}/g, (_, reference: string) => {
      const arn = /^secretsmanager:(arn:[^}]+):SecretString:::$/.exec(reference)?.[1];
      if (arn === undefined) throw new AssemblyError(path, `the local runner does not resolve ${reference}`);
      return String(this.get(this.find(arn), {})["SecretString"]);
    });
  }

  /** Whether a secret was ever rotated, and when, in milliseconds since the epoch. */
  lastRotatedMs(arn: string): number | null {
    return this.find(arn).last_rotated_ms;
  }

  /** Announces the version of a rotation, as Secrets Manager does before the first step; returns its id. */
  startRotation(arn: string): string {
    const secret = this.find(arn);
    const open = secret.versions.find(({ stages }) => stages.includes(pending) && !stages.includes(current));
    if (open !== undefined) return open.id;
    const id = randomUUID();
    secret.rotation_enabled = true;
    for (const version of secret.versions) version.stages = without(version.stages, pending);
    secret.versions.push({ id, stages: [pending], created_ms: Date.now() });
    this.file.save();
    return id;
  }

  /** Ends a rotation whose four steps succeeded. */
  finishRotation(arn: string): void {
    this.find(arn).last_rotated_ms = Date.now();
    this.file.save();
  }

  private create({ physical_id: arn, properties, path }: Resource): void {
    if (this.file.value.secrets.some((secret) => secret.arn === arn)) return;
    const name = arn.split(":secret:")[1]?.replace(/-[^-]{6}$/, "") ?? path;
    const version: Version = {
      id: randomUUID(),
      secret_string: firstValue(properties),
      stages: [current],
      created_ms: Date.now(),
    };
    this.file.value.secrets.push({ arn, name, versions: [version], rotation_enabled: false, last_rotated_ms: null });
    this.file.save();
  }

  private find(secretId: unknown): Secret {
    const found = this.file.value.secrets.find(({ arn, name }) => arn === secretId || name === secretId);
    if (found !== undefined) return found;
    throw new AwsError(400, "ResourceNotFoundException", "Secrets Manager can't find the specified secret.");
  }

  private get(secret: Secret, { VersionId: id, VersionStage: stage }: Body): Record<string, unknown> {
    const wanted = id === undefined && stage === undefined ? current : stage;
    const version = secret.versions.find((one) => {
      return (id === undefined || one.id === id) && (wanted === undefined || one.stages.includes(String(wanted)));
    });
    if (version?.secret_string === undefined) {
      const what = id === undefined ? `staging label: ${String(wanted)}` : `VersionId: ${String(id)}`;
      const text = `Secrets Manager can't find the specified secret value for ${what}`;
      throw new AwsError(400, "ResourceNotFoundException", text);
    }
    return {
      ARN: secret.arn,
      Name: secret.name,
      VersionId: version.id,
      SecretString: version.secret_string,
      VersionStages: version.stages,
      CreatedDate: version.created_ms / 1000,
    };
  }

  private put(secret: Secret, body: Body): Record<string, unknown> {
    const { SecretString: value, ClientRequestToken: token } = body;
    if (typeof value !== "string") throw new AwsError(400, "InvalidRequestException", "SecretString is missing.");
    const id = typeof token === "string" ? token : randomUUID();
    const stages = Array.isArray(body["VersionStages"]) ? body["VersionStages"].map(String) : [current];
    const known = secret.versions.find((one) => one.id === id);
    if (known?.secret_string !== undefined && known.secret_string !== value) {
      const text = "You can't modify an existing version, you can only create a new version.";
      throw new AwsError(400, "ResourceExistsException", text);
    }
    const version = known ?? { id, stages: [], created_ms: Date.now() };
    version.secret_string = value;
    if (known === undefined) secret.versions.push(version);
    for (const stage of stages) attach(secret, stage, version);
    this.dropUnlabelled(secret);
    this.file.save();
    return { ARN: secret.arn, Name: secret.name, VersionId: id, VersionStages: version.stages };
  }

  private describe(secret: Secret): Record<string, unknown> {
    return {
      ARN: secret.arn,
      Name: secret.name,
      RotationEnabled: secret.rotation_enabled,
      ...(secret.last_rotated_ms !== null && { LastRotatedDate: secret.last_rotated_ms / 1000 }),
      VersionIdsToStages: Object.fromEntries(secret.versions.map(({ id, stages }) => [id, stages])),
    };
  }

  private moveStage(secret: Secret, body: Body): Record<string, unknown> {
    const { VersionStage: stage, MoveToVersionId: to, RemoveFromVersionId: from } = body;
    if (typeof stage !== "string") throw new AwsError(400, "InvalidParameterException", "VersionStage is missing.");
    const holder = secret.versions.find((version) => version.stages.includes(stage));
    if (holder !== undefined && holder.id !== to && holder.id !== from) {
      const text = `The staging label ${stage} is currently attached to version ${holder.id}; name it to remove it.`;
      throw new AwsError(400, "InvalidParameterException", text);
    }
    if (to !== undefined) {
      const target = secret.versions.find((version) => version.id === to);
      if (target === undefined) throw new AwsError(400, "ResourceNotFoundException", "There is no such version.");
      attach(secret, stage, target);
    } else if (holder !== undefined) holder.stages = without(holder.stages, stage);
    this.dropUnlabelled(secret);
    this.file.save();
    return { ARN: secret.arn, Name: secret.name };
  }

  /** Versions without a label are deprecated, and Secrets Manager deletes them at some time. */
  private dropUnlabelled(secret: Secret): void {
    secret.versions = secret.versions.filter(({ stages }) => stages.length > 0);
  }
}

/** Attaches a label to one version; moving AWSCURRENT labels the version that had it AWSPREVIOUS. */
function attach(secret: Secret, stage: string, target: Version): void {
  const holder = secret.versions.find((version) => version.stages.includes(stage));
  if (holder === target) return;
  if (holder !== undefined) holder.stages = without(holder.stages, stage);
  target.stages = [...target.stages, stage];
  if (stage !== current || holder === undefined) return;
  for (const version of secret.versions) version.stages = without(version.stages, previous);
  holder.stages = [...holder.stages, previous];
}

function without(stages: readonly string[], stage: string): string[] {
  return stages.filter((one) => one !== stage);
}

/** The value of `SecretString`, or a generated one as long as asked for, inside the template when there is one. */
function firstValue(properties: Readonly<Record<string, unknown>>): string {
  const { SecretString: given, GenerateSecretString: generate } = properties;
  if (typeof given === "string") return given;
  const length = Number((isRecord(generate) ? generate["PasswordLength"] : undefined) ?? generatedLength);
  const word = randomWord(length);
  if (!isRecord(generate) || typeof generate["SecretStringTemplate"] !== "string") return word;
  return JSON.stringify({
    ...JSON.parse(generate["SecretStringTemplate"]),
    [String(generate["GenerateStringKey"])]: word,
  });
}

/** Letters and digits only: what is generated with or without punctuation may look like this. */
function randomWord(length: number): string {
  let word = "";
  while (word.length < length) word += randomBytes(length).toString("base64url").replace(/[-_]/g, "");
  return word.slice(0, length);
}

/** A value with every text in it changed; the same value where no text changes. */
function filled<T>(value: T, fill: (text: string) => string): T {
  if (typeof value === "string") return (value.includes("{{resolve:") ? fill(value) : value) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, inner, filled(inner, fill)] as const);
  if (entries.every(([, before, after]) => before === after)) return value;
  const changed = entries.map(([name, , after]) => [name, after] as const);
  return (Array.isArray(value) ? changed.map(([, after]) => after) : Object.fromEntries(changed)) as T;
}
