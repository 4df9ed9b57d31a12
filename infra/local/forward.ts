import { Agent, type IncomingHttpHeaders, request } from "node:http";

/** An answer of a server, as it came. */
export interface RawReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const limitMs = 60_000;

/** Sends requests to one local server over connections that stay open. */
export class Forwarder {
  private readonly origin: URL;
  private readonly agent = new Agent({ keepAlive: true });

  constructor(origin: string) {
    this.origin = new URL(origin);
  }

  /** Posts a body and waits for the whole answer; rejects when the server is gone or silent. */
  post(path: string, headers: Readonly<Record<string, string>>, body: Uint8Array | string): Promise<RawReply> {
    return this.send("POST", path, headers, body);
  }

  /** Sends a request and waits for the whole answer; rejects when the server is gone or silent. */
  send(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array | string,
  ): Promise<RawReply> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.origin;
      const all = { ...headers, "content-length": String(Buffer.byteLength(body)) };
      const options = { agent: this.agent, hostname, port, path, method, headers: all, timeout: limitMs };
      const sent = request(options, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 500, headers: response.headers, body: Buffer.concat(chunks) });
        });
      });
      sent.on("timeout", () => sent.destroy(new Error(`No answer from ${this.origin.origin} in ${limitMs} ms.`)));
      sent.on("error", reject);
      sent.end(body);
    });
  }

  /** Closes the connections. */
  close(): void {
    this.agent.destroy();
  }
}

/** The headers of a call that an emulator wants and does not verify. */
export function unverifiedHeaders(target: string, service: string, region: string): Record<string, string> {
  const scope = `Credential=LOCAL/20200101/${region}/${service}/aws4_request`;
  return {
    "x-amz-target": target,
    "content-type": "application/x-amz-json-1.0",
    "x-amz-date": "20200101T000000Z",
    authorization: `AWS4-HMAC-SHA256 ${scope}, SignedHeaders=host, Signature=local`,
  };
}
