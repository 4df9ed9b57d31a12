import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { connectionOf, ServiceClient } from "../../infra/tools/service-client.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A client of a service that answers each path so. */
async function clientOf(answers: Readonly<Record<string, readonly [number, object]>>): Promise<ServiceClient> {
  const server = createServer((request, response) => {
    const [status, body] = answers[request.url ?? ""] ?? [404, {}];
    response.writeHead(status, { "Content-Type": "application/json", Connection: "close" }).end(JSON.stringify(body));
  });
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return new ServiceClient({ base_url: `http://127.0.0.1:${port}`, client_id: "app", client_secret: "sec" });
}

describe("a client of the service", () => {
  it("says why its credentials are refused, and does not repeat them", async () => {
    const refused = { error: "invalid_client", error_description: "Client authentication failed." };
    const client = await clientOf({ "/oauth/token": [401, refused] });
    await expect(client.call("GET", "/me")).rejects.toThrow(
      "POST /oauth/token answered 401 (invalid_client: Client authentication failed.).",
    );
  });

  it("names the member of a body that is refused", async () => {
    const errors = [{ pointer: "#/name", code: "invalid_format", detail: "must be a platform and a name" }];
    const problem = { code: "validation_failed", detail: "1 field failed validation.", errors };
    const client = await clientOf({
      "/oauth/token": [200, { access_token: "token", expires_in: 3600 }],
      "/feed/sources": [422, problem],
    });
    await expect(client.call("POST", "/feed/sources", { body: {} })).rejects.toThrow(
      "answered 422 (validation_failed: 1 field failed validation.: #/name must be a platform and a name).",
    );
  });
});

describe("the address of the service", () => {
  it.each(["127.0.0.1:3000/v2", "https://", "api.example.com"])("is refused when it is no URL: %s", (address) => {
    expect(() => connectionOf(address)).toThrow("must be a URL such as https://api.example.com/v2");
  });
});
