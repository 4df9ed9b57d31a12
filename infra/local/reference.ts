import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { narrow, type OpenApi } from "../../shared/openapi/document.ts";
import { referencePage } from "../../shared/openapi/reference.ts";
import { listenOn } from "./free-port.ts";

/** The reference page of the running service. */
export interface Reference {
  readonly url: string;
  stop(): void;
}

/**
 * Serves the reference of the stage that runs here, with the address it has here, on a port beside the gateway: the
 * gateway itself answers what API Gateway would, and nothing else. Where the port is taken, any free one does.
 */
export async function serveReference(stage: string, baseUrl: string, port: number): Promise<Reference> {
  const committed = new URL("../../shared/openapi/openapi.json", import.meta.url);
  // The page is made when it is asked for first: most runs never show it.
  let page: string | undefined;
  const server = createServer((request, response) => {
    if (request.url !== "/" || request.method !== "GET") {
      response.writeHead(404, { "Content-Type": "text/plain" }).end("The reference is at /.\n");
      return;
    }
    const document = JSON.parse(readFileSync(committed, "utf8")) as OpenApi;
    page ??= referencePage(narrow(document, { stage, serverUrl: baseUrl }));
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store" }).end(page);
  });
  const taken = await listenOn(server, port).catch(() => listenOn(server, 0));
  return { url: `http://127.0.0.1:${taken}/`, stop: () => server.close().closeAllConnections() };
}
