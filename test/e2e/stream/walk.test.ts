import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessToken } from "../../../infra/tools/api-call.ts";
import { type Stack, sharedStack } from "../../support/stack/stack.ts";
import { handshakeStatus, openStream } from "../../support/stack/stream-client.ts";

let stack: Stack;
let url: string;
let token: string;
beforeAll(async () => {
  stack = await sharedStack();
  url = stack.cloud.streamUrl ?? "";
  token = await accessToken(stack.baseUrl, stack.credentials);
});
afterAll(() => stack?.stop());

const newTicket = async () => (await stack.api.call<{ ticket: string }>("POST", "/stream_tickets")).body.ticket;

describe("the handshake of the running service", () => {
  it.each([
    ["nothing", 401, async () => [url]],
    ["a token in the URL", 401, async () => [`${url}?access_token=${token}`]],
    ["a token in the header and in the URL", 401, async () => [`${url}?token=${token}`, token]],
    ["a ticket that was never issued", 401, async () => [`${url}?ticket=stk_${"A".repeat(43)}`]],
    [
      "a ticket twice",
      401,
      async () => {
        const ticket = await newTicket();
        return [`${url}?ticket=${ticket}&ticket=${ticket}`];
      },
    ],
    ["a ticket", 101, async () => [`${url}?ticket=${await newTicket()}`]],
    ["a token in the header", 101, async () => [url, token]],
  ] as const)("with %s is answered %i", async (_name, status, shown) => {
    const [address = "", header]: readonly string[] = await shown();
    expect(await handshakeStatus(address, header)).toBe(status);
  });

  it("with a used ticket, or without a scope of the stream, is refused", async () => {
    const address = `${url}?ticket=${await newTicket()}`;
    expect([await handshakeStatus(address), await handshakeStatus(address)]).toEqual([101, 401]);
    const { credentials } = await stack.newApplication({ scopes: ["clients:read"] });
    expect(await handshakeStatus(url, await accessToken(stack.baseUrl, credentials))).toBe(403);
  });
});

describe("a connection of the running service", () => {
  it("is greeted, answered, refused precisely, and stays open whatever is sent", async () => {
    const client = await openStream(`${url}?ticket=${await newTicket()}`);
    expect(client.socket.protocol).toBe("brokerage.v2+json");
    const hello = await client.next(() => true);
    expect(hello).toMatchObject({ type: "hello", head_sequence: expect.stringMatching(/^\d+$/) });
    const codeOf = async (message: unknown) => {
      client.send(message);
      return (await client.next(({ type }) => type === "error")).code;
    };
    expect(await codeOf("{")).toBe("malformed_json");
    expect(await codeOf("[".repeat(1000))).toBe("malformed_json");
    expect(await codeOf({ type: "subscribe", id: "1", channels: [{ name: "trades" }] })).toBe("validation_failed");
    client.send({ type: "ping", id: "p" });
    expect(await client.next(({ type }) => type === "pong")).toEqual({ type: "pong", id: "p" });
    client.send({ type: "subscribe", id: "1", channels: [{ name: "events" }] });
    expect(await client.next(({ type }) => type === "subscribed")).toEqual({ type: "subscribed", id: "1" });
    await client.close();
  });
});
