import type { ContextValues } from "./context.ts";
import { accepted, type Exchange, lastValue, mediaType, type Reply } from "./exchange.ts";
import { Fault } from "./fault.ts";
import type { Properties } from "./properties.ts";
import { type AnswerModel, readAnswer, renderAnswer } from "./template.ts";

/** One of the answers of a MOCK integration. */
interface MockAnswer extends AnswerModel {
  readonly status: number;
  /** Must match the whole status that the request template gives; the answer without one is the default. */
  readonly selection?: RegExp;
}

/** An integration that answers without a function. */
export interface MockIntegration {
  readonly kind: "mock";
  readonly passthrough: "WHEN_NO_MATCH" | "WHEN_NO_TEMPLATES" | "NEVER";
  /** Status that each request template gives, by media type; `$default` catches the rest. */
  readonly statuses: ReadonlyMap<string, number>;
  readonly answers: readonly MockAnswer[];
}

/** API Gateway also takes the key without quotes, as CDK writes it for CORS. */
function statusOf(text: string): number | undefined {
  const digits = /^\s*\{\s*"?statusCode"?\s*:\s*(\d{3})\s*\}\s*$/.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function readStatuses(integration: Properties): Map<string, number> {
  const statuses = new Map<string, number>();
  for (const [type, text] of integration.textMap("RequestTemplates")) {
    const status = statusOf(text);
    if (status === undefined) {
      const rule = 'the local gateway knows request templates of the form {"statusCode": 405} only';
      throw integration.error(`RequestTemplates.${type}`, `(${text}): ${rule}`);
    }
    statuses.set(type === "$default" ? type : mediaType(type), status);
  }
  return statuses;
}

function readStatusCode(properties: Properties): number {
  const status = properties.number("StatusCode");
  if (!Number.isInteger(status) || status < 100 || status > 599) throw properties.error("StatusCode", "is no status");
  return status;
}

/** API Gateway refuses to deploy a mapping to a header that the method response does not declare. */
function checkDeclared(answer: Properties, model: MockAnswer, responses: readonly Properties[]): void {
  const response = responses.find((candidate) => readStatusCode(candidate) === model.status);
  if (response === undefined) throw answer.error("StatusCode", `(${model.status}) has no method response`);
  const declared = new Set(response.flagNames("ResponseParameters"));
  for (const { name } of model.headers) {
    const key = `method.response.header.${name}`;
    if (!declared.has(key)) throw answer.error(`ResponseParameters.${key}`, "is not declared by the method response");
  }
}

/** Reads the `Integration` of type MOCK; `responses` are the `MethodResponses` of its method. */
export function readMock(integration: Properties, responses: readonly Properties[]): MockIntegration {
  integration.only({
    implemented: ["IntegrationResponses", "PassthroughBehavior", "RequestTemplates", "Type"],
    ignored: ["CacheNamespace", "TimeoutInMillis"],
    harmless: { ConnectionType: "INTERNET" },
  });
  const answers = integration.items("IntegrationResponses").map((answer) => {
    answer.only({ implemented: ["ResponseParameters", "ResponseTemplates", "SelectionPattern", "StatusCode"] });
    const pattern = answer.optionalText("SelectionPattern");
    const model: MockAnswer = {
      ...readAnswer(answer, "method.response.header.", "velocity"),
      status: readStatusCode(answer),
      ...(pattern === undefined || pattern === "" ? {} : { selection: new RegExp(`^(?:${pattern})$`) }),
    };
    checkDeclared(answer, model, responses);
    return model;
  });
  const choices = ["WHEN_NO_MATCH", "WHEN_NO_TEMPLATES", "NEVER"] as const;
  return {
    kind: "mock",
    passthrough: integration.choice("PassthroughBehavior", choices, "WHEN_NO_MATCH"),
    statuses: readStatuses(integration),
    answers,
  };
}

function requestStatus(mock: MockIntegration, exchange: Exchange): number {
  // A request without a type counts as JSON (AWS docs: integration passthrough behaviors).
  const type = mediaType(lastValue(exchange.headers, "content-type") ?? "application/json");
  const status = mock.statuses.get(type) ?? mock.statuses.get("$default");
  if (status !== undefined) return status;
  const passes =
    mock.passthrough === "WHEN_NO_MATCH" || (mock.passthrough === "WHEN_NO_TEMPLATES" && mock.statuses.size === 0);
  if (!passes) throw new Fault("UNSUPPORTED_MEDIA_TYPE");
  const passed = statusOf(exchange.body.toString());
  if (passed === undefined) throw new Fault("DEFAULT_5XX", { reason: "the request gives no statusCode to the MOCK" });
  return passed;
}

/** Answers a request of a MOCK integration. Throws a Fault where API Gateway makes the answer itself. */
export function answerMock(mock: MockIntegration, exchange: Exchange, context: ContextValues): Reply {
  const status = String(requestStatus(mock, exchange));
  const answer =
    mock.answers.find(({ selection }) => selection?.test(status) === true) ??
    mock.answers.find(({ selection }) => selection === undefined);
  if (answer === undefined) {
    throw new Fault("API_CONFIGURATION_ERROR", { reason: `no integration response for the status ${status}` });
  }
  return renderAnswer(answer, answer.status, context, accepted(exchange.headers));
}
