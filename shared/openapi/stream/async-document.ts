import type { JsonObject } from "../document.ts";

/** A server of the AsyncAPI document. */
export interface AsyncServer extends JsonObject {
  host: string;
  pathname?: string;
}

/** The AsyncAPI 3.0 document of the stream, with the members that this code reads. */
export interface AsyncApi {
  asyncapi: "3.0.0";
  info: JsonObject;
  defaultContentType: string;
  /** By stage. */
  servers: Record<string, AsyncServer>;
  channels: Record<string, JsonObject & { servers: { $ref: string }[] }>;
  operations: Record<string, JsonObject>;
  components: {
    messages: Record<string, JsonObject>;
    schemas: Record<string, JsonObject>;
    securitySchemes: Record<string, JsonObject>;
  };
}

/** Stage and address of a copy of the document. */
export interface AsyncNarrowing {
  readonly stage: string;
  /** Address of the stream: `wss://host` or `wss://host/path`. */
  readonly streamUrl: string;
}

/**
 * The document of one stage, whose address is the only server. The argument is not changed. The function needs no
 * schemas, so that the bundle that serves the document contains only this file and the committed JSON.
 */
export function narrowAsync(document: AsyncApi, { stage, streamUrl }: AsyncNarrowing): AsyncApi {
  const { protocol, host, pathname } = new URL(streamUrl);
  const { pathname: _, ...server } = document.servers[stage] ?? { host };
  const path = pathname === "/" ? {} : { pathname };
  const servers = { [stage]: { ...server, ...path, protocol: protocol.slice(0, -1), host } };
  const only = [{ $ref: `#/servers/${stage}` }];
  const channels = Object.entries(document.channels).map(([name, channel]) => [name, { ...channel, servers: only }]);
  return { ...document, servers, channels: Object.fromEntries(channels) };
}
