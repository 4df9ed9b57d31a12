import { Authorizers } from "./authorizer.ts";
import { compressed } from "./compression.ts";
import { contextOf } from "./context.ts";
import { type Exchange, lastValue, type Reply } from "./exchange.ts";
import { Fault, FrontFault } from "./fault.ts";
import { renderFault } from "./gateway-response.ts";
import type { GatewayHost } from "./host.ts";
import { answerProxy } from "./integration.ts";
import { answerMock } from "./mock.ts";
import type { GatewayModel, MethodModel } from "./model.ts";
import type { PlanModel } from "./plan.ts";
import { findRoute } from "./router.ts";
import { type Limit, Throttle } from "./throttle.ts";

/** Takes one line about a request that the gateway had to answer itself. */
export type Log = (line: string) => void;

function unknownPath(exchange: Exchange): Fault {
  if (lastValue(exchange.headers, "authorization") === undefined) return new Fault("MISSING_AUTHENTICATION_TOKEN");
  // Where no method is found, an Authorization header is read as a signature of AWS, which a token never is.
  return new Fault("DEFAULT_4XX", {
    status: 403,
    error_type: "IncompleteSignatureException",
    message: "Authorization header requires 'Credential' parameter.",
  });
}

function frontReply(fault: FrontFault): Reply {
  return {
    status: fault.status,
    headers: [
      ["Content-Type", "application/json"],
      ["x-amzn-ErrorType", fault.errorType],
    ],
    body: Buffer.from(JSON.stringify({ message: fault.message })),
  };
}

/** Looks on at every answer that leaves the gateway, regardless of its origin. */
export type OnAnswer = (exchange: Exchange, reply: Reply) => void;

/** The steps that every request takes: route, authorizer, API key, throttling, integration. */
export class Pipeline {
  private readonly model: GatewayModel;
  private readonly host: GatewayHost;
  private readonly log: Log;
  private readonly onAnswer: OnAnswer;
  private readonly authorizers: Authorizers;
  private readonly throttle = new Throttle();

  constructor(model: GatewayModel, host: GatewayHost, log: Log, onAnswer: OnAnswer = () => undefined) {
    this.model = model;
    this.host = host;
    this.log = log;
    this.onAnswer = onAnswer;
    this.authorizers = new Authorizers(host, model);
  }

  /** Answers a request; never rejects. */
  async answer(exchange: Exchange): Promise<Reply> {
    try {
      const reply = this.finish(exchange, await this.run(exchange));
      return compressed(reply, exchange, this.model.compressed_from_bytes);
    } catch (cause) {
      return this.refuse(exchange, cause);
    }
  }

  /** Answers a request that cannot be carried out, by the gateway response of the fault. */
  refuse(exchange: Exchange, cause: unknown): Reply {
    if (cause instanceof FrontFault) return this.finish(exchange, frontReply(cause));
    const fault = cause instanceof Fault ? cause : new Fault("DEFAULT_5XX", { reason: String(cause) });
    const reason = fault.message === fault.type ? "" : `, ${fault.message}`;
    this.log(`${exchange.request_id} ${exchange.method} ${exchange.full_path}: ${fault.type}${reason}`);
    return this.finish(exchange, renderFault(this.model.responses, this.model, exchange, fault));
  }

  private finish(exchange: Exchange, reply: Reply): Reply {
    const ids = [
      ["x-amzn-RequestId", exchange.request_id],
      ["x-amz-apigw-id", exchange.extended_request_id],
    ] as const;
    const finished = { ...reply, headers: [...ids, ...reply.headers] };
    this.onAnswer(exchange, finished);
    return finished;
  }

  private async run(exchange: Exchange): Promise<Reply> {
    const route = findRoute(this.model.root, exchange.method, exchange.path);
    if (route === undefined) throw unknownPath(exchange);
    exchange.route = route;
    const { method } = route;
    let usageKey: string | undefined;
    if (method.authorizer !== undefined) {
      const { caller, usage_key } = await this.authorizers.authorize(method.authorizer, exchange);
      exchange.caller = caller;
      usageKey = usage_key;
    }
    const plan = method.api_key_required ? this.checkKey(exchange, usageKey) : undefined;
    if (!this.throttle.admit(this.limitsOf(method, plan, exchange), this.host.now())) throw new Fault("THROTTLED");
    const { integration } = method;
    return integration.kind === "mock"
      ? answerMock(integration, exchange, contextOf(this.model, exchange))
      : await answerProxy(this.host, this.model, integration, exchange);
  }

  /** Finds the key of a request and the plan that it holds for this stage. */
  private checkKey(exchange: Exchange, usageKey: string | undefined): PlanModel {
    const value = this.model.key_source === "HEADER" ? lastValue(exchange.headers, "x-api-key") : usageKey;
    if (value === undefined || value === "") throw new Fault("INVALID_API_KEY", { reason: "there is no API key" });
    const key = this.host.findApiKey(value);
    if (key === undefined) throw new Fault("INVALID_API_KEY", { reason: "the API key is not known" });
    if (!key.enabled) throw new Fault("INVALID_API_KEY", { reason: `the API key ${key.id} is disabled` });
    exchange.api_key = { id: key.id, value };
    for (const id of key.usage_plan_ids) {
      const plan = this.model.plans.get(id);
      if (plan !== undefined) return plan;
    }
    throw new Fault("INVALID_API_KEY", { reason: `the API key ${key.id} is in no usage plan of this stage` });
  }

  private limitsOf(method: MethodModel, plan: PlanModel | undefined, exchange: Exchange): [string, Limit][] {
    const limits: [string, Limit][] = [];
    const holder = `${plan?.id} ${exchange.api_key?.id}`;
    const ofMethod = plan?.method_limits.get(method.key);
    if (ofMethod !== undefined) limits.push([`method ${holder} ${method.key}`, ofMethod]);
    if (plan?.limit !== undefined) limits.push([`plan ${holder}`, plan.limit]);
    const ofStage = this.model.stage_limits.by_method.get(method.key) ?? this.model.stage_limits.otherwise;
    if (ofStage !== undefined) limits.push([`stage ${method.key}`, ofStage]);
    return limits;
  }
}
