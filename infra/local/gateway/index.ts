import type { GatewayHost } from "./host.ts";
import { readModel } from "./model.ts";
import { type Log, type OnAnswer, Pipeline } from "./pipeline.ts";
import type { Resource } from "./properties.ts";
import { GatewayServer } from "./server.ts";

export type { GatewayHost } from "./host.ts";
export type { OnAnswer } from "./pipeline.ts";
export { ModelError } from "./properties.ts";

/**
 * Runs the REST API of a synthesized template the way API Gateway does, on 127.0.0.1.
 *
 * `resources` are those of all stacks, intrinsic functions resolved; others than AWS::ApiGateway ones are passed over.
 * Rejects with a ModelError that names the resource when the template asks for anything that would change an answer
 * and is not implemented. `origin` has no slash at the end and no stage. `log` gets a line for each request that the
 * gateway had to answer itself, with a reason that the caller does not see; `onAnswer` sees every answer.
 */
export async function startGateway(
  resources: readonly Resource[],
  host: GatewayHost,
  options: { port: number; log?: Log; onAnswer?: OnAnswer },
): Promise<{ origin: string; stop(): Promise<void> }> {
  const model = readModel(resources);
  const pipeline = new Pipeline(model, host, options.log ?? (() => undefined), options.onAnswer);
  const server = new GatewayServer(pipeline, model.stage, () => host.now());
  const port = await server.listen(options.port);
  return { origin: `http://127.0.0.1:${port}`, stop: () => server.stop() };
}
