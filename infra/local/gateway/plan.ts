import { ModelError, Properties, type Resource } from "./properties.ts";
import type { Limit } from "./throttle.ts";

/** Limits of a usage plan for each of its keys in this stage. */
export interface PlanModel {
  readonly id: string;
  readonly limit?: Limit;
  /** Limits of single methods, by `<METHOD> <resource path>`. */
  readonly method_limits: ReadonlyMap<string, Limit>;
}

/** Limits of the stage itself, which all callers of a method share. */
export interface StageLimits {
  /** For every method that has none of its own; each method has a bucket of its own. */
  readonly otherwise?: Limit;
  readonly by_method: ReadonlyMap<string, Limit>;
}

/** How limits name a method. */
export function methodKey(httpMethod: string, resourcePath: string): string {
  return `${httpMethod} ${resourcePath}`;
}

function readLimit(properties: Properties, rate: string, burst: string): Limit {
  return { rate: properties.number(rate), burst: properties.number(burst) };
}

function readPlanMethods(apiStage: Properties, known: ReadonlySet<string>): Map<string, Limit> {
  const limits = new Map<string, Limit>();
  for (const [key, throttle] of apiStage.nestedMap("Throttle")) {
    throttle.only({ implemented: ["BurstLimit", "RateLimit"] });
    const cut = key.lastIndexOf("/");
    const name = methodKey(key.slice(cut + 1), key.slice(0, cut));
    if (!known.has(name)) throw apiStage.error(`Throttle.${key}`, "names a method that the API does not have");
    limits.set(name, readLimit(throttle, "RateLimit", "BurstLimit"));
  }
  return limits;
}

/** Reads the usage plans that hold this stage; `methods` are the keys of all methods of the API. */
export function readPlans(
  resources: readonly Resource[],
  apiId: string,
  stage: string,
  methods: ReadonlySet<string>,
): ReadonlyMap<string, PlanModel> {
  const plans = new Map<string, PlanModel>();
  for (const resource of resources) {
    const properties = Properties.of(resource).only({
      implemented: ["ApiStages", "Throttle"],
      ignored: ["Description", "Tags", "UsagePlanName"],
    });
    for (const apiStage of properties.items("ApiStages")) {
      apiStage.only({ implemented: ["ApiId", "Stage", "Throttle"] });
      if (apiStage.text("ApiId") !== apiId || apiStage.text("Stage") !== stage) {
        throw new ModelError(resource.path, "holds a stage that is not in the template");
      }
      const limit = properties.optionalNested("Throttle")?.only({ implemented: ["BurstLimit", "RateLimit"] });
      plans.set(resource.physical_id, {
        id: resource.physical_id,
        method_limits: readPlanMethods(apiStage, methods),
        ...(limit === undefined ? {} : { limit: readLimit(limit, "RateLimit", "BurstLimit") }),
      });
    }
  }
  return plans;
}

/** `/~1quotes~1{symbol}` and `/quotes/{symbol}` both mean the same resource. */
function settingPath(text: string): string {
  return text.includes("~1") ? text.replace(/^\//, "").replaceAll("~1", "/") : text;
}

/** Reads the throttling out of the method settings of a stage. */
export function readStageLimits(settings: readonly Properties[], methods: ReadonlySet<string>): StageLimits {
  const byMethod = new Map<string, Limit>();
  let otherwise: Limit | undefined;
  for (const setting of settings) {
    setting.only({
      implemented: ["HttpMethod", "ResourcePath", "ThrottlingBurstLimit", "ThrottlingRateLimit"],
      ignored: ["DataTraceEnabled", "LoggingLevel", "MetricsEnabled"],
      harmless: { CachingEnabled: false },
    });
    const rate = setting.optionalNumber("ThrottlingRateLimit");
    const burst = setting.optionalNumber("ThrottlingBurstLimit");
    if (rate === undefined && burst === undefined) continue;
    const limit = readLimit(setting, "ThrottlingRateLimit", "ThrottlingBurstLimit");
    const path = settingPath(setting.text("ResourcePath"));
    const method = setting.text("HttpMethod");
    if (path === "/*" && method === "*") {
      otherwise = limit;
      continue;
    }
    const name = methodKey(method, path);
    if (!methods.has(name)) throw setting.error("ResourcePath", `(${name}) names a method that the API does not have`);
    byMethod.set(name, limit);
  }
  return { by_method: byMethod, ...(otherwise === undefined ? {} : { otherwise }) };
}
