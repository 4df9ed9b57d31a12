import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { AwsError } from "../aws-error.ts";
import type { Access } from "../iam/permissions.ts";
import { StateFile } from "../state-file.ts";
import type { Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";

type Tags = Readonly<Record<string, string>>;

interface ApiKey {
  readonly id: string;
  readonly value: string;
  readonly name: string;
  readonly description: string;
  readonly enabled: boolean;
  readonly created_ms: number;
  /** Absent in files that older versions have written. */
  readonly tags?: Tags;
  plans: string[];
}

/** A request to the control plane of API Gateway. */
export interface ControlRequest {
  readonly method: string;
  /** Path without the query, `/apikeys`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

interface ControlReply {
  readonly status: number;
  readonly body?: unknown;
}

/** Characters of a key's value that API Gateway takes. */
const valueLength = { least: 20, most: 128 } as const;

/** API keys and what usage plans hold them: the part of API Gateway's control plane that functions use. */
export class ApiKeys {
  private readonly file: StateFile<{ keys: ApiKey[] }>;
  private readonly byValue = new Map<string, ApiKey>();
  private readonly plans: ReadonlySet<string>;

  constructor(resources: readonly Resource[], dataDir: string) {
    const plans = resources.filter(({ type }) => type === "AWS::ApiGateway::UsagePlan");
    this.plans = new Set(plans.map(({ physical_id }) => physical_id));
    this.file = new StateFile(join(dataDir, "api-keys.json"), { keys: [] });
    for (const key of this.file.value.keys) this.byValue.set(key.value, key);
  }

  /** The key with this value; undefined when there is none. */
  findApiKey(value: string): { id: string; enabled: boolean; usage_plan_ids: string[] } | undefined {
    const key = this.byValue.get(value);
    return key && { id: key.id, enabled: key.enabled, usage_plan_ids: [...key.plans] };
  }

  /**
   * Rights that a request needs, at the gateway with this prefix of ARNs. To make a key with tags also is to give tags
   * to keys whose ids are not known yet, which API Gateway asks for as an asterisk.
   */
  accessOf({ method, path, body }: ControlRequest, prefix: string): Access[] {
    const [, collection, id = ""] = path.split("/").map(decodeURIComponent);
    const action = `apigateway:${method}`;
    const resource = `${prefix}${path}`;
    if (collection !== "apikeys") return [{ action, resource }];
    const key = this.file.value.keys.find((one) => one.id === id);
    const tags = tagsIn(body);
    const context = { ...conditionsOn("Resource", key?.tags), ...conditionsOn("Request", tags) };
    const own = { action, resource, context: { ...context, "aws:TagKeys": Object.keys(tags) } };
    if (Object.keys(tags).length === 0) return [own];
    const tagged = `${prefix}/tags/${encodeURIComponent(`${prefix}/apikeys/`)}*`;
    return [own, { ...own, action: "apigateway:PUT", resource: tagged }];
  }

  /** Does what a request asks for. Throws AwsErrors. */
  call({ method, path, query, body }: ControlRequest): ControlReply {
    const [, collection, id, keys, keyId, ...rest] = path.split("/").map(decodeURIComponent);
    const values = query.get("includeValues") === "true" || query.get("includeValue") === "true";
    const given = isRecord(body) ? body : {};
    if (rest.length > 0) throw unknownCall(method, path);
    if (collection === "apikeys" && id === undefined) {
      if (method === "POST") return { status: 201, body: apiKeyBody(this.create(given), true) };
      if (method === "GET")
        return { status: 200, body: { item: this.list(query.get("name")).map((key) => apiKeyBody(key, values)) } };
    }
    if (collection === "apikeys" && id !== undefined && keys === undefined) {
      if (method === "GET") return { status: 200, body: apiKeyBody(this.find(id), values) };
      if (method === "DELETE") return this.remove(id);
    }
    if (collection === "usageplans" && id !== undefined && keys === "keys") {
      return this.planCall({ method, path, planId: id, keyId, given });
    }
    throw unknownCall(method, path);
  }

  private planCall(call: {
    readonly method: string;
    readonly path: string;
    readonly planId: string;
    readonly keyId: string | undefined;
    readonly given: Readonly<Record<string, unknown>>;
  }): ControlReply {
    const { method, path, planId, keyId, given } = call;
    if (!this.plans.has(planId)) throw new AwsError(404, "NotFoundException", "Invalid Usage Plan ID specified");
    const held = this.file.value.keys.filter(({ plans }) => plans.includes(planId));
    if (keyId === undefined && method === "GET") return { status: 200, body: { item: held.map(shownInPlan) } };
    if (keyId === undefined && method === "POST") {
      const key = this.find(String(given["keyId"]));
      if (key.plans.includes(planId)) throw new AwsError(409, "ConflictException", "Usage plan key already exists");
      key.plans = [...key.plans, planId];
      this.file.save();
      return { status: 201, body: shownInPlan(key) };
    }
    const key = held.find(({ id }) => id === keyId);
    if (key === undefined) throw new AwsError(404, "NotFoundException", "Invalid Key identifier specified");
    if (method === "GET") return { status: 200, body: shownInPlan(key) };
    if (method !== "DELETE") throw unknownCall(method, path);
    key.plans = key.plans.filter((plan) => plan !== planId);
    this.file.save();
    return { status: 202 };
  }

  private create(given: Readonly<Record<string, unknown>>): ApiKey {
    const value = typeof given["value"] === "string" ? given["value"] : randomBytes(30).toString("base64url");
    if (value.length < valueLength.least || value.length > valueLength.most) {
      throw new AwsError(400, "BadRequestException", "API Key value should be between 20 and 128 characters");
    }
    if (this.byValue.has(value)) throw new AwsError(409, "ConflictException", "API Key already exists");
    const key: ApiKey = {
      id: randomBytes(5).toString("hex"),
      value,
      name: String(given["name"] ?? ""),
      description: String(given["description"] ?? ""),
      enabled: given["enabled"] === true,
      created_ms: Date.now(),
      tags: tagsIn(given),
      plans: [],
    };
    this.file.value.keys.push(key);
    this.byValue.set(value, key);
    this.file.save();
    return key;
  }

  /** All keys, or those whose name starts with the text, as API Gateway's filter does. */
  private list(name: string | null): ApiKey[] {
    return this.file.value.keys.filter((key) => name === null || key.name.startsWith(name));
  }

  private find(id: string): ApiKey {
    const key = this.file.value.keys.find((one) => one.id === id);
    if (key === undefined) throw new AwsError(404, "NotFoundException", "Invalid API Key identifier specified");
    return key;
  }

  private remove(id: string): ControlReply {
    const key = this.find(id);
    this.file.value.keys = this.file.value.keys.filter((one) => one !== key);
    this.byValue.delete(key.value);
    this.file.save();
    return { status: 202 };
  }
}

function tagsIn(body: unknown): Tags {
  const tags = isRecord(body) ? body["tags"] : undefined;
  return Object.fromEntries(Object.entries(isRecord(tags) ? tags : {}).map(([name, value]) => [name, String(value)]));
}

function conditionsOn(what: "Request" | "Resource", tags: Tags = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(tags).map(([name, value]) => [`aws:${what}Tag/${name}`, value]));
}

function unknownCall(method: string, path: string): AwsError {
  return new AwsError(501, "NotImplemented", `The local runner does not know ${method} ${path} of API Gateway.`);
}

function apiKeyBody(key: ApiKey, withValue: boolean): Record<string, unknown> {
  const { id, name, description, enabled, created_ms, tags = {} } = key;
  const created = Math.floor(created_ms / 1000);
  const rest = { createdDate: created, lastUpdatedDate: created, stageKeys: [], tags };
  return { id, ...(withValue && { value: key.value }), name, description, enabled, ...rest };
}

function shownInPlan({ id, name, value }: ApiKey): Record<string, unknown> {
  return { id, type: "API_KEY", name, value };
}
