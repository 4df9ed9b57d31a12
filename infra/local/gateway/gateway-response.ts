import { type ContextValues, contextOf, type StageIdentity } from "./context.ts";
import { accepted, type Exchange, type Reply } from "./exchange.ts";
import { type Fault, isResponseType, kinds, type ResponseType } from "./fault.ts";
import { Properties, type Resource } from "./properties.ts";
import { type AnswerModel, compileTemplate, readAnswer, renderAnswer } from "./template.ts";

/** Settings of an API for one response type. */
interface Configured extends AnswerModel {
  readonly status?: number;
}

/** The gateway responses of an API, by type. */
export type GatewayResponses = ReadonlyMap<ResponseType, Configured>;

function builtInTemplate(member: string): AnswerModel["templates"] {
  const refuse = (why: string) => new Error(why);
  const text = `{"${member}":$context.error.messageString}`;
  return [{ media_type: "application/json", render: compileTemplate(text, "plain", refuse) }];
}

/** Answer of API Gateway without settings. A denial really spells its member with a capital letter. */
const builtIn = builtInTemplate("message");
const builtInForDenials = builtInTemplate("Message");

function readStatus(properties: Properties): number | undefined {
  const text = properties.optionalText("StatusCode");
  if (text === undefined) return undefined;
  if (!/^[1-5]\d\d$/.test(text)) throw properties.error("StatusCode", `(${text}) is no HTTP status`);
  return Number(text);
}

/** Reads the resources of type AWS::ApiGateway::GatewayResponse. */
export function readGatewayResponses(resources: readonly Resource[]): GatewayResponses {
  const responses = new Map<ResponseType, Configured>();
  for (const resource of resources) {
    const properties = Properties.of(resource).only({
      implemented: ["ResponseParameters", "ResponseTemplates", "ResponseType", "StatusCode"],
      ignored: ["RestApiId"],
    });
    const type = properties.text("ResponseType");
    if (!isResponseType(type)) throw properties.error("ResponseType", `(${type}) is no type of gateway response`);
    if (responses.has(type)) throw properties.error("ResponseType", `(${type}) is configured twice`);
    const status = readStatus(properties);
    const answer = readAnswer(properties, "gatewayresponse.header.", "plain");
    const templates = answer.templates.length === 0 ? builtIn : answer.templates;
    responses.set(type, { ...answer, templates, ...(status === undefined ? {} : { status }) });
  }
  return responses;
}

function fallbackOf(type: ResponseType, status: number): ResponseType {
  if (type === "DEFAULT_4XX" || type === "DEFAULT_5XX") return type;
  return status >= 500 ? "DEFAULT_5XX" : "DEFAULT_4XX";
}

/**
 * Answers with the gateway response of a fault: the one of its type, else the DEFAULT of its class, else the one that
 * is built in. AWS documents that 413 REQUEST_TOO_LARGE cannot be customized (important notes for REST APIs), so that
 * type always gets the built-in one.
 */
export function renderFault(
  responses: GatewayResponses,
  stage: StageIdentity,
  exchange: Exchange,
  fault: Fault,
): Reply {
  const context: ContextValues = contextOf(stage, exchange, fault);
  const configured =
    fault.type === "REQUEST_TOO_LARGE"
      ? undefined
      : (responses.get(fault.type) ?? responses.get(fallbackOf(fault.type, kinds[fault.type].status)));
  const templates = fault.type === "ACCESS_DENIED" ? builtInForDenials : builtIn;
  const answer: Configured = configured ?? { headers: [], templates };
  const reply = renderAnswer(answer, answer.status ?? fault.status, context, accepted(exchange.headers));
  return { ...reply, headers: [...reply.headers, ["x-amzn-ErrorType", fault.errorType]] };
}
