import { describe, expect, it } from "vitest";
import { api, ask, eventsOf, proxyTo, testHost, withGateway } from "./support.ts";

const named = (name: string) => [name, () => ({ statusCode: 200, body: name })] as const;

function hostOf(...names: string[]) {
  return testHost(Object.fromEntries(names.map(named)));
}

describe("routing", () => {
  it("prefers a fixed segment to a parameter and a parameter to a greedy one", async () => {
    const resources = api({
      "GET /clients/{id}": { integration: proxyTo("one") },
      "GET /clients/search": { integration: proxyTo("search") },
      "GET /{rest+}": { integration: proxyTo("rest") },
    });
    await withGateway(resources, hostOf("one", "search", "rest"), async (origin) => {
      expect((await ask(origin, "/v2/clients/search")).body).toBe("search");
      expect((await ask(origin, "/v2/clients/cli_1")).body).toBe("one");
      expect((await ask(origin, "/v2/clients/cli_1/notes")).body).toBe("rest");
    });
  });

  it("gives way to the next branch when a branch has no method for the request", async () => {
    const resources = api({
      "POST /test": { integration: proxyTo("fixed") },
      "GET /{rest+}": { integration: proxyTo("rest") },
    });
    await withGateway(resources, hostOf("fixed", "rest"), async (origin) => {
      expect((await ask(origin, "/v2/test", { method: "POST" })).body).toBe("fixed");
      expect((await ask(origin, "/v2/test")).body).toBe("rest");
    });
  });

  it("takes a method of its own before ANY, and ANY for the seven methods only", async () => {
    const resources = api({
      "GET /clients": { integration: proxyTo("own") },
      "ANY /clients": { integration: proxyTo("any") },
    });
    await withGateway(resources, hostOf("own", "any"), async (origin) => {
      expect((await ask(origin, "/v2/clients")).body).toBe("own");
      for (const method of ["DELETE", "OPTIONS", "PATCH", "POST", "PUT"]) {
        expect((await ask(origin, "/v2/clients", { method })).body).toBe("any");
      }
      const head = await ask(origin, "/v2/clients", { method: "HEAD" });
      expect([head.status, head.body, head.header("content-length")]).toEqual([200, "", "3"]);
      expect((await ask(origin, "/v2/clients", { method: "TRACE" })).status).toBe(403);
    });
  });

  it("answers an unknown path and a missing method with MISSING_AUTHENTICATION_TOKEN, 403 by default", async () => {
    const resources = api({ "GET /clients": { integration: proxyTo("own") } });
    await withGateway(resources, hostOf("own"), async (origin) => {
      for (const answer of [await ask(origin, "/v2/nowhere"), await ask(origin, "/v2/clients", { method: "PUT" })]) {
        expect(answer.status).toBe(403);
        expect(answer.json()).toEqual({ message: "Missing Authentication Token" });
        expect(answer.header("x-amzn-errortype")).toBe("MissingAuthenticationTokenException");
      }
    });
  });

  it("reads an Authorization header on an unknown path as a signature, so DEFAULT_4XX answers", async () => {
    const resources = api({ "GET /clients": { integration: proxyTo("own") } });
    await withGateway(resources, hostOf("own"), async (origin, log) => {
      const answer = await ask(origin, "/v2/nowhere", { headers: [["Authorization", "Bearer secret"]] });
      expect(answer.status).toBe(403);
      expect(answer.header("x-amzn-errortype")).toBe("IncompleteSignatureException");
      expect(log.join()).toContain("DEFAULT_4XX");
      expect(answer.body + log.join()).not.toContain("secret");
    });
  });

  it("ignores slashes at the end for routing and keeps them in the path of the event", async () => {
    const host = hostOf("own");
    const resources = api({ "GET /clients/{id}": { integration: proxyTo("own") } });
    await withGateway(resources, host, async (origin) => {
      expect((await ask(origin, "/v2/clients/cli_1/")).status).toBe(200);
    });
    const [event] = eventsOf(host, "own");
    expect(event).toMatchObject({ path: "/clients/cli_1/", pathParameters: { id: "cli_1" } });
    expect(event?.requestContext).toMatchObject({ path: "/v2/clients/cli_1/", resourcePath: "/clients/{id}" });
  });

  it("counts slashes in front as one, and keeps those after the stage in requestContext.path", async () => {
    const host = hostOf("own");
    const resources = api({ "GET /clients": { integration: proxyTo("own") } });
    await withGateway(resources, host, async (origin) => {
      expect((await ask(origin, "//v2//clients")).status).toBe(200);
    });
    const [event] = eventsOf(host, "own");
    expect([event?.["path"], event?.requestContext["path"]]).toEqual(["/clients", "/v2//clients"]);
  });

  it("does not take an empty segment for a parameter", async () => {
    const resources = api({ "GET /clients/{id}/notes": { integration: proxyTo("own") } });
    await withGateway(resources, hostOf("own"), async (origin) => {
      expect((await ask(origin, "/v2/clients//notes")).status).toBe(403);
    });
  });

  it("hands path parameters on as they were sent, percent signs and plus signs included", async () => {
    const host = hostOf("own", "rest");
    const resources = api({
      "GET /quotes/{symbol}": { integration: proxyTo("own") },
      "GET /files/{path+}": { integration: proxyTo("rest") },
    });
    await withGateway(resources, host, async (origin) => {
      await ask(origin, "/v2/quotes/EUR%2FUSD+x@y");
      await ask(origin, "/v2/files/a%2Bb//c");
    });
    expect(eventsOf(host, "own")[0]?.["pathParameters"]).toEqual({ symbol: "EUR%2FUSD+x@y" });
    expect(eventsOf(host, "rest")[0]?.["pathParameters"]).toEqual({ path: "a%2Bb//c" });
  });

  it("lets X-HTTP-Method-Override choose the method and hands the header on to be refused", async () => {
    const host = hostOf("delete", "post");
    const resources = api({
      "DELETE /clients": { integration: proxyTo("delete") },
      "POST /clients": { integration: proxyTo("post") },
    });
    await withGateway(resources, host, async (origin) => {
      const headers = [["X-HTTP-Method-Override", "DELETE"]] as const;
      expect((await ask(origin, "/v2/clients", { method: "POST", headers })).body).toBe("delete");
    });
    const [event] = eventsOf(host, "delete");
    expect(event?.["httpMethod"]).toBe("DELETE");
    expect(event?.headers).toMatchObject({ "X-HTTP-Method-Override": "DELETE" });
    expect(event?.multiValueHeaders).toMatchObject({ "X-HTTP-Method-Override": ["DELETE"] });
  });

  it("refuses a foreign stage before any gateway response, and keeps /ping and /sping for itself", async () => {
    const resources = api({ "GET /clients": { integration: proxyTo("own") } });
    await withGateway(resources, hostOf("own"), async (origin) => {
      const foreign = await ask(origin, "/v1/clients");
      expect([foreign.status, foreign.json()]).toEqual([403, { message: "Forbidden" }]);
      for (const path of ["/ping", "/sping"]) {
        expect([(await ask(origin, path)).status, (await ask(origin, path)).body]).toEqual([200, "healthy"]);
      }
    });
  });
});
