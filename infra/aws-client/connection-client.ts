import type { Answer } from "./http-handler.ts";
import { type Command, JsonClient } from "./json-client.ts";
import type { Data } from "./json-protocol.ts";
import { encoded } from "./request-signature.ts";
import { RestCommand, restMetadata, restService } from "./rest-client.ts";

/** Input of an operation on one connection. */
interface ConnectionInput extends Data {
  readonly ConnectionId: string;
  /** Bytes for the client, as they are. */
  readonly Data?: string | Uint8Array;
}

/** AWS REST JSON, as far as a connection is sent to or closed: neither has a body to read but that of an error. */
const protocol = {
  request({ name }: { readonly name: string }, input: Data) {
    const { ConnectionId: id, Data: data, ...rest } = input as ConnectionInput;
    const [unknown] = Object.keys(rest);
    if (unknown !== undefined) throw new Error(`The member ${unknown} of ${name} is not in this bundle.`);
    // Without it the address would be that of another resource.
    if (!id) throw new Error("No value provided for input HTTP label: ConnectionId.");
    const path = `/@connections/${encoded(id)}`;
    if (name === "DeleteConnection") return { method: "DELETE", path, query: {}, headers: {} };
    const headers = { "content-type": "application/octet-stream" };
    return { method: "POST", path, query: {}, headers, body: data ?? "" };
  },

  /** @throws the error that API Gateway answered, by the name that it gives it */
  async read(_operation: unknown, answer: Answer): Promise<Data> {
    return { $metadata: await restMetadata(answer) };
  },
};

const service = restService({ id: "ApiGatewayManagementApi", host: "execute-api", protocol });

/**
 * Takes the place of the published client of the connections of a WebSocket API: it sends to a connection and closes
 * one, with the signatures, retries and errors of the other clients. Left out: what tells of a connection.
 */
export class ApiGatewayManagementApiClient extends JsonClient {
  constructor(settings?: ConstructorParameters<typeof JsonClient>[1]) {
    super(service, settings);
  }
}

/** Sends to a connection. */
export class PostToConnectionCommand extends RestCommand<ConnectionInput> {
  readonly operation = { name: "PostToConnection" } as Command["operation"];
}

/** Closes a connection. */
export class DeleteConnectionCommand extends RestCommand<ConnectionInput> {
  readonly operation = { name: "DeleteConnection" } as Command["operation"];
}
