import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundle } from "../../../infra/bundle.ts";
import { type FaultProxy, startFaultProxy } from "../../support/emulator/fault-proxy.ts";
import { isSignedBy } from "../../support/stack/request-signature.ts";
import type * as Clients from "../fixtures/clients.ts";

const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" };
/** Ids of API Gateway are base64: they hold `=`, and may hold `/` and `+`. */
const id = "L0SM9/OF+HcCIhw=";

/** Answers of the gateway for each connection, by the last word of its id. */
const answers: Readonly<Record<string, readonly [status: number, body?: string]>> = {
  gone: [410, '{"__type":"GoneException"}'],
  denied: [403, '{"__type":"ForbiddenException","message":"no"}'],
  large: [413, '{"__type":"PayloadTooLargeException","message":"too large"}'],
  limited: [429, '{"__type":"LimitExceededException"}'],
  broken: [500, "<html>"],
};

describe("the client of connections of the functions does what the published one does", () => {
  let outdir: string;
  let gateway: Server;
  let proxy: FaultProxy;
  let sdks: readonly (typeof Clients)[];
  const seen: { readonly method: string; readonly url: string; readonly body: string }[] = [];

  beforeAll(async () => {
    outdir = await mkdtemp(join(tmpdir(), "connection-client-"));
    gateway = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => {
        const { method = "", url = "" } = incoming;
        const body = Buffer.concat(chunks).toString();
        seen.push({ method, url, body });
        const [status, answer = ""] = answers[url.split("/").at(-1) ?? ""] ?? [method === "DELETE" ? 204 : 200];
        outgoing.writeHead(status).end(answer);
      });
    });
    await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
    proxy = await startFaultProxy(`http://127.0.0.1:${(gateway.address() as AddressInfo).port}`);
    sdks = [await build(false), await build(true)];
  });
  afterAll(async () => {
    await proxy.stop();
    await new Promise((resolve) => gateway.close(resolve));
    await rm(outdir, { recursive: true, force: true });
  });

  async function build(diet: boolean): Promise<typeof Clients> {
    const folder = join(outdir, String(diet));
    const entries = [{ name: "The comparison", file: "clients" }];
    await bundle({ entries, root: new URL("../fixtures", import.meta.url).pathname, outdir: folder, diet });
    return import(pathToFileURL(join(folder, "clients", "index.mjs")).href);
  }

  type Client = InstanceType<typeof Clients.ApiGatewayManagementApiClient>;

  /** Results of both for a call, and the requests that the gateway saw; every request of the slim one is signed. */
  async function outcomes(run: (sdk: typeof Clients, client: Client) => Promise<unknown>) {
    const found: unknown[] = [];
    for (const sdk of sdks) {
      const client = new sdk.ApiGatewayManagementApiClient({
        endpoint: `${proxy.endpoint}/stage`,
        region: "eu-west-1",
        credentials,
        maxAttempts: 2,
      });
      proxy.begin([]);
      seen.splice(0);
      const outcome = await run(sdk, client).catch((error: Error & { $metadata?: object }) => {
        const { httpStatusCode, attempts } = Object(error.$metadata);
        return { name: error.name, httpStatusCode, attempts };
      });
      expect(proxy.seen().filter((request) => !isSignedBy(credentials.secretAccessKey, request))).toEqual([]);
      found.push({ outcome, seen: [...seen] });
      client.destroy();
    }
    expect(found[1]).toEqual(found[0]);
    return found[1];
  }

  const post = (ConnectionId: string) => async (sdk: typeof Clients, client: Client) => {
    await client.send(new sdk.PostToConnectionCommand({ ConnectionId, Data: '{"type":"pong","id":"ä"}' }));
    return "sent";
  };

  it("sends a text as it is to a connection whose id has signs of base64", async () => {
    const body = '{"type":"pong","id":"ä"}';
    const url = "/stage/@connections/L0SM9%2FOF%2BHcCIhw%3D";
    expect(await outcomes(post(id))).toEqual({ outcome: "sent", seen: [{ method: "POST", url, body }] });
  });

  it("closes a connection", async () => {
    const close = async (sdk: typeof Clients, client: Client) => {
      await client.send(new sdk.DeleteConnectionCommand({ ConnectionId: id }));
      return "closed";
    };
    expect(await outcomes(close)).toMatchObject({ outcome: "closed", seen: [{ method: "DELETE" }] });
  });

  it.each([
    ["gone", { name: "GoneException", httpStatusCode: 410, attempts: 1 }],
    ["denied", { name: "ForbiddenException", httpStatusCode: 403, attempts: 1 }],
    ["large", { name: "PayloadTooLargeException", httpStatusCode: 413, attempts: 1 }],
    ["limited", { name: "LimitExceededException", httpStatusCode: 429, attempts: 2 }],
  ])("learns that a connection is %s", async (connection, outcome) => {
    expect(await outcomes(post(connection))).toMatchObject({ outcome });
  });

  it("tries again where API Gateway fails itself", async () => {
    for (const sdk of sdks) {
      const client = new sdk.ApiGatewayManagementApiClient({
        ...{ endpoint: proxy.endpoint, region: "eu-west-1", credentials, maxAttempts: 2 },
      });
      seen.splice(0);
      await expect(post("broken")(sdk, client)).rejects.toMatchObject({ $metadata: { httpStatusCode: 500 } });
      expect(seen).toHaveLength(2);
      client.destroy();
    }
  });

  it("refuses what it does not carry", async () => {
    const [, slim] = sdks as [typeof Clients, typeof Clients];
    const client = new slim.ApiGatewayManagementApiClient({
      endpoint: proxy.endpoint,
      region: "eu-west-1",
      credentials,
    });
    const more = { ConnectionId: id, Data: "", Identity: "x" };
    await expect(client.send(new slim.PostToConnectionCommand(more))).rejects.toThrow("Identity of PostToConnection");
    await expect(client.send(new slim.DeleteConnectionCommand({ ConnectionId: "" }))).rejects.toThrow("ConnectionId");
    client.destroy();
  });
});
