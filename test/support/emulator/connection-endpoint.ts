import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A call on a connection, as API Gateway takes it. */
export interface ConnectionCall {
  readonly method: string;
  readonly connection_id: string;
  /** The message of a POST, parsed. */
  // biome-ignore lint/suspicious/noExplicitAny: messages are checked by the assertions, not by the compiler.
  readonly message: any;
}

/** The address that connections are posted to: it takes what is sent, for handlers inside the test process. */
export interface ConnectionEndpoint {
  readonly endpoint: string;
  /** Calls since the last time, in order of arrival. */
  readonly takeCalls: () => ConnectionCall[];
  /** Status that a call is answered with; 200 by default. */
  statusOf: (call: ConnectionCall) => number;
  readonly stop: () => Promise<void>;
}

/** Starts it on a free port of the loopback. */
export async function startConnectionEndpoint(): Promise<ConnectionEndpoint> {
  let calls: ConnectionCall[] = [];
  const watched = { statusOf: (_call: ConnectionCall) => 200, takeCalls: () => calls.splice(0) };
  const server = createServer((incoming, outgoing) => {
    text(incoming)
      .then((body) => {
        const connection_id = decodeURIComponent((incoming.url ?? "").split("/@connections/")[1] ?? "");
        const call = {
          method: incoming.method ?? "",
          connection_id,
          message: body === "" ? undefined : JSON.parse(body),
        };
        const status = watched.statusOf(call);
        if (status === 200) calls = [...calls, call];
        outgoing.writeHead(status, status === 410 ? { "x-amzn-errortype": "GoneException" } : {}).end("{}");
      })
      .catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2`;
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return Object.assign(watched, { endpoint, stop });
}
