import { type AuthorizerModel, readAuthorizer } from "./authorizer.ts";
import { type GatewayResponses, readGatewayResponses } from "./gateway-response.ts";
import { type Integration, readIntegration } from "./integration.ts";
import { methodKey, type PlanModel, readPlans, readStageLimits, type StageLimits } from "./plan.ts";
import { ModelError, Properties, type Resource } from "./properties.ts";
import type { EventContext } from "./proxy-event.ts";
import { httpMethods, type PathNode } from "./router.ts";

/** One method of one resource. */
export interface MethodModel {
  /** As limits name it, `<METHOD> <resource path>`. */
  readonly key: string;
  readonly api_key_required: boolean;
  readonly authorizer?: AuthorizerModel;
  readonly integration: Integration;
}

/** A REST API and its one stage, read from the synthesized template and understood in full. */
export interface GatewayModel extends EventContext {
  readonly key_source: "HEADER" | "AUTHORIZER";
  /** Size of an answer from which on it is compressed; undefined when none is. */
  readonly compressed_from_bytes: number | undefined;
  readonly root: PathNode;
  readonly responses: GatewayResponses;
  readonly plans: ReadonlyMap<string, PlanModel>;
  readonly stage_limits: StageLimits;
}

const prefix = "AWS::ApiGateway::";
/** Kinds of resources that are read here. */
const readKinds = [
  "Authorizer",
  "Deployment",
  "GatewayResponse",
  "Method",
  "Resource",
  "RestApi",
  "Stage",
  "UsagePlan",
];
/** Keys are the host's business, and the account only says who writes logs. */
const foreignKinds = ["Account", "ApiKey", "UsagePlanKey"];

type Kinds = ReadonlyMap<string, readonly Resource[]>;

function byKind(resources: readonly Resource[]): Kinds {
  const kinds = new Map<string, Resource[]>();
  for (const resource of resources) {
    if (!resource.type.startsWith(prefix)) continue;
    const kind = resource.type.slice(prefix.length);
    if (!readKinds.includes(kind) && !foreignKinds.includes(kind)) {
      throw new ModelError(resource.path, `${resource.type} is not implemented by the local gateway`);
    }
    kinds.set(kind, [...(kinds.get(kind) ?? []), resource]);
  }
  return kinds;
}

function only(kinds: Kinds, kind: string): Resource {
  const found = kinds.get(kind) ?? [];
  const [first, second] = found;
  if (first === undefined) throw new ModelError("template", `has no ${prefix}${kind}`);
  if (second !== undefined)
    throw new ModelError(second.path, `is a second ${prefix}${kind}, the local gateway runs one`);
  return first;
}

interface ApiModel {
  readonly id: string;
  readonly key_source: "HEADER" | "AUTHORIZER";
  readonly binary_media_types: string[];
  readonly compressed_from_bytes: number | undefined;
}

function readApi(resource: Resource): ApiModel {
  const properties = Properties.of(resource).only({
    implemented: ["ApiKeySourceType", "BinaryMediaTypes", "EndpointConfiguration", "MinimumCompressionSize"],
    ignored: ["Description", "FailOnWarnings", "Name", "Tags"],
    harmless: { DisableExecuteApiEndpoint: false },
  });
  const endpoint = properties.optionalNested("EndpointConfiguration");
  endpoint?.only({ implemented: ["Types"], ignored: ["IpAddressType"] });
  const types = endpoint?.texts("Types") ?? [];
  if (types.some((type) => type !== "REGIONAL")) {
    throw properties.error("EndpointConfiguration.Types", `(${types.join(", ")}) is not implemented, only REGIONAL`);
  }
  return {
    id: resource.physical_id,
    key_source: properties.choice("ApiKeySourceType", ["HEADER", "AUTHORIZER"], "HEADER"),
    binary_media_types: properties.texts("BinaryMediaTypes"),
    compressed_from_bytes: properties.optionalNumber("MinimumCompressionSize"),
  };
}

function emptyNode(resource_id: string, resource_path: string): PathNode {
  return { resource_id, resource_path, children: new Map(), methods: new Map() };
}

/** Builds the tree. The root is no resource of the template: it is the one parent that no resource stands for. */
function readTree(resources: readonly Resource[], methods: readonly Resource[]): Map<string, PathNode> {
  const parts = new Map<string, { parent: string; part: string; owner: Resource }>();
  for (const owner of resources) {
    const properties = Properties.of(owner).only({ implemented: ["ParentId", "PathPart"], ignored: ["RestApiId"] });
    parts.set(owner.physical_id, { parent: properties.text("ParentId"), part: properties.text("PathPart"), owner });
  }
  const parents = [...parts.values()].map(({ parent }) => parent);
  const owners = methods.map((method) => Properties.of(method).text("ResourceId"));
  const roots = new Set([...parents, ...owners].filter((id) => !parts.has(id)));
  const [rootId = "root", another] = roots;
  if (another !== undefined) throw new ModelError("template", `resources hang on two roots, ${rootId} and ${another}`);
  const nodes = new Map([["", emptyNode(rootId, "/")]]);
  const build = (id: string, above: readonly string[]): PathNode => {
    const known = nodes.get(id === rootId ? "" : id);
    if (known !== undefined) return known;
    const entry = parts.get(id);
    if (entry === undefined || above.includes(id))
      throw new ModelError("template", `the resource ${id} hangs on itself`);
    const parent = build(entry.parent, [...above, id]);
    const { part, owner } = entry;
    if (parent.resource_path === "/" && (part === "ping" || part === "sping")) {
      throw new ModelError(owner.path, `/${part} is reserved for the health check of API Gateway`);
    }
    if (!/^(?:[\w.,:-]+|\{[\w.,:-]+\+?\})$/.test(part)) throw new ModelError(owner.path, `(${part}) is no path part`);
    if (parent.children.has(part)) throw new ModelError(owner.path, `(${part}) is there twice`);
    if (/^\{.*\+\}$/.test(parent.resource_path.split("/").at(-1) ?? "")) {
      throw new ModelError(owner.path, "nothing can stand below a greedy parameter");
    }
    const node = emptyNode(id, `${parent.resource_path === "/" ? "" : parent.resource_path}/${part}`);
    parent.children.set(part, node);
    nodes.set(id, node);
    return node;
  };
  for (const id of parts.keys()) build(id, []);
  const root = build(rootId, []);
  nodes.set(rootId, root);
  return nodes;
}

function readMethod(
  resource: Resource,
  node: PathNode,
  authorizers: ReadonlyMap<string, AuthorizerModel>,
): MethodModel {
  const properties = Properties.of(resource).only({
    implemented: [
      "ApiKeyRequired",
      "AuthorizationType",
      "AuthorizerId",
      "HttpMethod",
      "Integration",
      "MethodResponses",
      "ResourceId",
    ],
    ignored: ["OperationName", "RestApiId"],
  });
  const httpMethod = properties.choice("HttpMethod", [...httpMethods, "ANY"]);
  const key = methodKey(httpMethod, node.resource_path);
  if (node.methods.has(httpMethod)) throw properties.error("HttpMethod", `(${key}) is there twice`);
  const type = properties.choice("AuthorizationType", ["NONE", "CUSTOM"], "NONE");
  const authorizerId = properties.optionalText("AuthorizerId");
  const authorizer = authorizerId === undefined ? undefined : authorizers.get(authorizerId);
  if ((type === "CUSTOM") !== (authorizer !== undefined)) {
    throw properties.error("AuthorizerId", `(${String(authorizerId)}) does not fit the authorization type ${type}`);
  }
  const responses = properties.items("MethodResponses").map((response) => {
    return response.only({ implemented: ["ResponseParameters", "StatusCode"], ignored: ["ResponseModels"] });
  });
  const integration = properties.optionalNested("Integration");
  if (integration === undefined) throw properties.error("Integration", "is missing");
  const model: MethodModel = {
    key,
    api_key_required: properties.flag("ApiKeyRequired"),
    integration: readIntegration(integration, responses),
    ...(authorizer === undefined ? {} : { authorizer }),
  };
  node.methods.set(httpMethod, model);
  return model;
}

function accountOf(methods: readonly MethodModel[]): string {
  for (const { integration } of methods) {
    if (integration.kind === "proxy") return integration.function_arn.split(":")[4] ?? "";
  }
  return "000000000000";
}

/**
 * Reads the API out of the resources of all stacks. Throws a ModelError that names the resource for everything that
 * would change an answer and is not implemented, so that what runs here is what deploys.
 */
export function readModel(resources: readonly Resource[]): GatewayModel {
  const kinds = byKind(resources);
  const all = (kind: string) => kinds.get(kind) ?? [];
  const api = readApi(only(kinds, "RestApi"));
  for (const kind of readKinds) {
    if (kind === "RestApi" || kind === "UsagePlan") continue;
    for (const resource of all(kind)) {
      const properties = Properties.of(resource);
      if (properties.text("RestApiId") !== api.id) throw properties.error("RestApiId", "names another API");
    }
  }
  for (const deployment of all("Deployment")) {
    Properties.of(deployment).only({ implemented: [], ignored: ["Description", "RestApiId"] });
  }
  const stage = Properties.of(only(kinds, "Stage")).only({
    implemented: ["DeploymentId", "MethodSettings", "StageName", "Variables"],
    ignored: ["AccessLogSetting", "Description", "RestApiId", "Tags", "TracingEnabled"],
    harmless: { CacheClusterEnabled: false },
  });
  const authorizers = new Map(all("Authorizer").map((resource) => [resource.physical_id, readAuthorizer(resource)]));
  const nodes = readTree(all("Resource"), all("Method"));
  const methods = all("Method").map((resource) => {
    const node = nodes.get(Properties.of(resource).text("ResourceId"));
    if (node === undefined) throw new ModelError(resource.path, "stands on a resource that is not there");
    return readMethod(resource, node, authorizers);
  });
  const root = nodes.get("");
  if (root === undefined) throw new ModelError("template", "has no root");
  const keys = new Set(methods.map(({ key }) => key));
  const stageName = stage.text("StageName");
  return {
    account_id: accountOf(methods),
    api_id: api.id,
    stage: stageName,
    deployment_id: stage.text("DeploymentId"),
    stage_variables: Object.fromEntries(stage.textMap("Variables")),
    binary_media_types: api.binary_media_types,
    compressed_from_bytes: api.compressed_from_bytes,
    key_source: api.key_source,
    root,
    responses: readGatewayResponses(all("GatewayResponse")),
    plans: readPlans(all("UsagePlan"), api.id, stageName, keys),
    stage_limits: readStageLimits(stage.items("MethodSettings"), keys),
  };
}
