import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FunctionDefinition } from "../../../infra/local/functions/functions.ts";
import { RequestLogs } from "../../../infra/local/logs/request-logs.ts";

/** The log of the functions behind routes, as the local runner keeps it. */
export interface LogEndpoint {
  /** Address and name of the log group: what the function that counts usage finds in its environment. */
  readonly environment: Record<string, string>;
  /** Writes a line with the present time. */
  readonly write: (line: object) => void;
  /** Called when the log was read, before the answer is sent. */
  interfere: () => void | Promise<void>;
  readonly stop: () => Promise<void>;
}

const group = "requests";

/** Starts it on a free port of the loopback. */
export async function startLogEndpoint(): Promise<LogEndpoint> {
  const folder = mkdtempSync(join(tmpdir(), "brokerage-logs-"));
  const resource = { type: "AWS::Logs::LogGroup", path: group, physical_id: group, properties: {}, attributes: {} };
  const logs = new RequestLogs([resource], [{ name: "api", log_group: group } as FunctionDefinition], folder);
  const state = { interfere: (): void | Promise<void> => undefined };
  const server = createServer(async (incoming, outgoing) => {
    const body = JSON.parse(Buffer.concat(await incoming.toArray()).toString());
    const answer = JSON.stringify(logs.filter(body));
    await state.interfere();
    outgoing.writeHead(200, { "content-type": "application/x-amz-json-1.1" }).end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(state, {
    environment: {
      AWS_REGION: "eu-west-1",
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      AWS_ENDPOINT_URL_CLOUDWATCH_LOGS: `http://127.0.0.1:${port}`,
      REQUEST_LOG_GROUP: group,
    },
    write(line: object) {
      const text = JSON.stringify({ timestamp: new Date().toISOString(), ...line });
      appendFileSync(join(folder, "api.log"), `${text}\n`);
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      rmSync(folder, { recursive: true, force: true });
    },
  });
}
