import { createServer, type IncomingMessage, request as requestOf, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { StoredObject } from "../buckets/buckets.ts";
import { listenOn } from "../free-port.ts";
import { headerList } from "../gateway/request.ts";
import type { Behavior, DistributionModel, Origin } from "./model.ts";
import { type Pairs, withPolicy } from "./response-headers.ts";

/** Surroundings of a distribution. */
export interface DistributionOptions {
  /** An object of a bucket; undefined when there is none. */
  readonly object: (bucket: string, key: string) => StoredObject | undefined;
  /** A text of the template with addresses of this machine in the place of those on AWS. */
  readonly localized: (text: string) => string;
  /** Address that servers see requests come from, as they see an address of CloudFront; default: that of the viewer. */
  readonly edgeAddress?: string;
}

/** Headers that belong to one connection (RFC 9110 7.6.1). */
const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Headers of an object that reach the browser. */
const ofObjects = new Set(["cache-control", "content-type", "etag", "last-modified"]);

const denied = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code></Error>`;

/** One HTTP/1.1 server that answers as the distribution does, without its caches. */
export class DistributionServer {
  private readonly model: DistributionModel;
  private readonly options: DistributionOptions;
  private readonly server: Server;

  constructor(model: DistributionModel, options: DistributionOptions) {
    this.model = model;
    this.options = options;
    this.server = createServer((request, response) => {
      this.answer(request, response).catch((error: Error) => {
        if (response.headersSent) response.destroy();
        else reply(response, 502, [["Content-Type", "text/plain"]], `The origin does not answer: ${error.message}\n`);
      });
    });
  }

  /** Listens on a port of the loopback, or on any free one where it is taken; resolves with the address. */
  async start(port: number): Promise<string> {
    const taken = await listenOn(this.server, port).catch(() => listenOn(this.server, 0));
    return `http://127.0.0.1:${taken}`;
  }

  async stop(): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = "/", query] = splitTarget(request.url ?? "/");
    const { method = "GET" } = request;
    const behavior = this.model.behaviors.find(({ matches }) => matches(path));
    if (behavior === undefined || !behavior.methods.includes(method)) {
      const text = "This distribution is not configured to allow the HTTP request method.\n";
      return reply(response, 403, [["Content-Type", "text/plain"]], text);
    }
    const viewer = (request.socket.remoteAddress ?? "").replace(/^::ffff:/, "");
    const uri = behavior.function?.run({ method, uri: path }) ?? path;
    if (behavior.origin.kind === "bucket") return this.answerObject(request, response, behavior, uri);
    const from = { origin: behavior.origin, viewer, policy: behavior.headers };
    await this.pass(request, response, from, query === undefined ? uri : `${uri}?${query}`);
  }

  private async answerObject(
    request: IncomingMessage,
    response: ServerResponse,
    behavior: Behavior,
    uri: string,
  ): Promise<void> {
    const { origin, headers: given } = behavior;
    const bucket = origin.kind === "bucket" ? origin.bucket : "";
    const found = this.options.object(bucket, decoded(uri).slice(1));
    const policy = given.map(([name, value]) => [name, this.options.localized(value)] as const);
    if (found === undefined) {
      return reply(response, 403, withPolicy([["Content-Type", "application/xml"]], policy), denied);
    }
    const kept = Object.entries(found.headers).filter(([name]) => ofObjects.has(name));
    const headers = withPolicy(kept, policy);
    const { etag } = found.headers;
    if (etag !== undefined && request.headers["if-none-match"] === etag) return reply(response, 304, headers, "");
    reply(response, 200, headers, request.method === "HEAD" ? "" : found.body, found.body.length);
  }

  /** Hands a request to a server, with the address of the viewer behind those that it claims to forward. */
  private pass(
    request: IncomingMessage,
    response: ServerResponse,
    { origin, viewer, policy }: { origin: Origin & { kind: "server" }; viewer: string; policy: Pairs },
    path: string,
  ): Promise<void> {
    const { localized, edgeAddress } = this.options;
    const { hostname, port } = new URL(localized(`https://${origin.host}`));
    const options = {
      ...{ hostname, port, method: request.method, path },
      headers: originHeaders(headerList(request), origin, viewer).flat(),
      ...(edgeAddress !== undefined && { localAddress: edgeAddress }),
    };
    return new Promise((resolve, reject) => {
      const sent = requestOf(options, (received) => {
        const headers = headerList(received).filter(([name]) => !hopByHop.has(name.toLowerCase()));
        response.writeHead(received.statusCode ?? 502, withPolicy(headers, policy).flat());
        pipeline(received, response).then(resolve, reject);
      });
      sent.on("error", reject);
      pipeline(request, sent).catch(reject);
    });
  }
}

function splitTarget(target: string): readonly [path: string, query: string | undefined] {
  const cut = target.indexOf("?");
  return cut < 0 ? [target, undefined] : [target.slice(0, cut), target.slice(cut + 1)];
}

function originHeaders(given: Pairs, origin: Origin & { kind: "server" }, viewer: string): Pairs {
  const replaced = new Set(["host", "x-forwarded-for", ...[...origin.headers.keys()].map((one) => one.toLowerCase())]);
  const passed = given.filter(([name]) => !hopByHop.has(name.toLowerCase()) && !replaced.has(name.toLowerCase()));
  const hops = given.filter(([name]) => name.toLowerCase() === "x-forwarded-for").map(([, value]) => value);
  return [
    ...passed,
    ["Host", origin.host],
    ["X-Forwarded-For", [...hops, viewer].join(", ")],
    ["Via", "1.1 local.cloudfront.net (CloudFront)"],
    ...origin.headers,
  ];
}

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

function reply(response: ServerResponse, status: number, headers: Pairs, body: Uint8Array | string, length?: number) {
  const size = length ?? Buffer.byteLength(body);
  response.writeHead(status, [...headers, ...(status === 304 ? [] : [["Content-Length", String(size)]])].flat());
  response.end(body);
}
