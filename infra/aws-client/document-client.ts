import type { JsonClient } from "./json-client.ts";

/** Takes the place of the client of documents, which shares another client's settings: it sends by that one. */
export class DynamoDBDocumentClient {
  readonly config: JsonClient["config"];
  readonly #client: JsonClient;

  constructor(client: JsonClient, translateConfig?: object) {
    this.#client = client;
    this.config = client.config;
    if (translateConfig !== undefined) this.config.translateConfig = translateConfig;
  }

  static from(client: JsonClient, translateConfig?: object): DynamoDBDocumentClient {
    return new DynamoDBDocumentClient(client, translateConfig);
  }

  send(...given: Parameters<JsonClient["send"]>): ReturnType<JsonClient["send"]> {
    return this.#client.send(...given);
  }

  /** The connections are closed by the owner of the client below. */
  destroy(): void {}
}
