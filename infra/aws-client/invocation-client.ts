import type { Answer } from "./http-handler.ts";
import { type Command, JsonClient } from "./json-client.ts";
import type { Data } from "./json-protocol.ts";
import { encoded } from "./request-signature.ts";
import { RestCommand, restMetadata, restService } from "./rest-client.ts";

/** Input of an invocation. */
interface InvocationInput extends Data {
  readonly FunctionName: string;
  readonly InvocationType: "Event";
  readonly Payload: string;
}

/** AWS REST JSON, as far as a function is invoked without a wait for its answer. */
const protocol = {
  request({ name }: { readonly name: string }, input: Data) {
    const { FunctionName: called, InvocationType: type, Payload: body, ...rest } = input as InvocationInput;
    const [unknown] = Object.keys(rest);
    if (unknown !== undefined) throw new Error(`The member ${unknown} of ${name} is not in this bundle.`);
    if (type !== "Event") throw new Error("Only invocations without an answer are in this bundle.");
    if (!called) throw new Error("No value provided for input HTTP label: FunctionName.");
    const path = `/2015-03-31/functions/${encoded(called)}/invocations`;
    const headers = { "content-type": "application/octet-stream", "x-amz-invocation-type": type };
    return { method: "POST", path, query: {}, headers, body };
  },

  /** @throws the error that Lambda answered, by the name that it gives it */
  async read(_operation: unknown, answer: Answer): Promise<Data> {
    return { $metadata: await restMetadata(answer), StatusCode: answer.statusCode };
  },
};

const service = restService({ id: "Lambda", host: "lambda", protocol });

/** Takes the place of the published client of Lambda: it invokes functions and takes no answer of them. */
export class LambdaClient extends JsonClient {
  constructor(settings?: ConstructorParameters<typeof JsonClient>[1]) {
    super(service, settings);
  }
}

/** Invokes a function. */
export class InvokeCommand extends RestCommand<InvocationInput> {
  readonly operation = { name: "Invoke" } as Command["operation"];
}
