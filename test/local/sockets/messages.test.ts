import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { AwsError } from "../../../infra/local/aws-error.ts";
import { FrameMeter } from "../../../infra/local/socket/frames.ts";
import { eventsOf, ProcessDied, testHost } from "../gateway/support.ts";
import {
  allowed,
  type Client,
  client,
  closeCode,
  eventsSoon,
  idOf,
  open,
  rawClient,
  socketApi,
  withSockets,
} from "./socket-support.ts";

const limit = 32 * 1024;
const hours = 3_600_000;

/** A frame as a client sends it, masked with zeros. */
function frame(payload: string, { fin = true, opcode = 1, length = Buffer.byteLength(payload) } = {}): Buffer {
  const first = (fin ? 0x80 : 0) | opcode;
  const sized = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  sized[0] = first;
  if (length < 126) sized[1] = 0x80 | length;
  else if (length < 65_536) {
    sized[1] = 0x80 | 126;
    sized.writeUInt16BE(length, 2);
  } else {
    sized[1] = 0x80 | 127;
    sized.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([sized, Buffer.alloc(4), Buffer.from(payload)]);
}

describe("the meter of frames", () => {
  const whole = Buffer.concat([frame("a"), frame("b".repeat(200)), frame("c".repeat(limit)), frame("", { opcode: 9 })]);

  it.each([1, 2, 3, 7, 100, 100_000])("lets frames pass up to the limit, in chunks of %i bytes", (size) => {
    const meter = new FrameMeter();
    const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, n) => n * size);
    expect(chunks.map((at) => meter.exceeds(whole.subarray(at, at + size)))).not.toContain(true);
    expect(meter.exceeds(frame("d".repeat(limit + 1)).subarray(0, 8))).toBe(true);
  });

  it("stops a frame of any larger length by its head alone", () => {
    for (const length of [limit + 1, 65_535, 65_536, 2 ** 40]) {
      expect(new FrameMeter().exceeds(frame("", { length }))).toBe(true);
    }
  });
});

describe("a message", () => {
  it("goes to $default with the context of the authorizer, and its answer is dropped", async () => {
    const functions = { authorize: () => allowed({ tenant_id: "brk_1" }), message: () => ({ statusCode: 500 }) };
    const host = testHost({ ...open, ...functions });
    await withSockets(host, async ({ url }) => {
      const { socket, received } = await client(url);
      for (const text of ['{"type":"$connect"}', '{"type":7}', "null", "no JSON"]) socket.send(text);
      const events = await eventsSoon(host, "message", 4);
      expect(events.map(({ body }) => body)).toEqual(['{"type":"$connect"}', '{"type":7}', "null", "no JSON"]);
      expect(events[0]?.requestContext).toMatchObject({
        ...{ routeKey: "$default", eventType: "MESSAGE", connectionId: idOf(eventsOf(host, "connect")[0]) },
        authorizer: { tenant_id: "brk_1", principalId: "app_1" },
      });
      expect(events[0]).not.toHaveProperty("headers");
      expect(eventsOf(host, "connect")).toHaveLength(1);
      socket.ping();
      await once(socket, "pong");
      expect(received).toEqual([]);
    });
  });

  it("whose function fails, or that comes too fast, is answered by the gateway", async () => {
    const host = testHost({ ...open, message: () => Promise.reject(new Error("secret")) });
    const settings = { ThrottlingRateLimit: 1, ThrottlingBurstLimit: 2 };
    const use = async (url: string) => {
      const { socket, next } = await client(url);
      const said = async () => {
        socket.send("{}");
        return JSON.parse(await next());
      };
      const connectionId = idOf(eventsOf(host, "connect")[0]);
      expect(await said()).toEqual({ message: "Internal server error", connectionId, requestId: expect.any(String) });
      host.functions.set("message", () => Promise.reject(new ProcessDied("x")));
      expect(await said()).toMatchObject({ message: "Internal server error" });
      expect(await said()).toMatchObject({ message: "Too Many Requests", connectionId });
    };
    const resources = socketApi({ stage: { DefaultRouteSettings: settings } });
    await withSockets(host, ({ url }) => use(url), { resources });
  });

  it("of 32 KB in a frame, or of 128 KB in several, is taken; more closes with 1009 and is not", async () => {
    const host = testHost({ ...open, message: () => ({}) });
    await withSockets(host, async ({ url }) => {
      const { socket, closed } = await client(url);
      socket.send("a".repeat(limit));
      for (const n of [1, 2, 3, 4]) socket.send("b".repeat(limit), { fin: n === 4 });
      expect((await eventsSoon(host, "message", 2)).map(({ body }) => String(body).length)).toEqual([limit, 4 * limit]);
      socket.send("c".repeat(limit + 1));
      expect((await closed).code).toBe(1009);
      const second = await client(url);
      for (const n of [1, 2, 3, 4, 5]) second.socket.send("d".repeat(limit), { fin: n === 5 });
      expect((await second.closed).code).toBe(1009);
      await eventsSoon(host, "disconnect", 2);
      expect(eventsOf(host, "message")).toHaveLength(2);
    });
  });

  it("that is binary closes with 1003, and bytes that are no frame or no text by their own code", async () => {
    const host = testHost({ ...open, message: () => ({}) });
    await withSockets(host, async ({ url }) => {
      const { socket, closed } = await client(url);
      socket.send(Buffer.from("{}"));
      expect((await closed).code).toBe(1003);
      const hostile: readonly (readonly [Buffer, number])[] = [
        [Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), 1002],
        // Not masked, a continuation of nothing, and text that is no UTF-8.
        [Buffer.from([0x81, 0x01, 0x61]), 1002],
        [frame("x", { opcode: 0 }), 1002],
        [Buffer.concat([frame("", { length: 1 }), Buffer.from([0xff])]), 1007],
        [frame("", { length: 2 ** 40 }), 1009],
      ];
      for (const [bytes, code] of hostile) {
        const raw = await rawClient(url);
        raw.socket.write(bytes);
        expect(closeCode(await raw.ended)).toBe(code);
      }
      expect(eventsOf(host, "message")).toEqual([]);
      expect(await eventsSoon(host, "disconnect", 6)).toHaveLength(6);
    });
  });
});

describe("a connection", () => {
  it("tells $disconnect how it ended, and nothing more reaches it", async () => {
    const host = testHost({ ...open, message: () => ({}) });
    await withSockets(host, async (sockets) => {
      const { socket } = await client(sockets.url);
      const id = idOf(eventsOf(host, "connect")[0]);
      socket.close(4000, "enough");
      const [event] = await eventsSoon(host, "disconnect", 1);
      expect(event?.requestContext).toMatchObject({
        ...{ routeKey: "$disconnect", eventType: "DISCONNECT", connectionId: id },
        ...{ disconnectStatusCode: 4000, disconnectReason: "enough", authorizer: { principalId: "app_1" } },
      });
      await expect(sockets.post(id, "{}")).rejects.toMatchObject({ status: 410, type: "GoneException" });
      const { socket: cut } = await client(sockets.url);
      cut.terminate();
      const [, second] = await eventsSoon(host, "disconnect", 2);
      expect(second?.requestContext).toMatchObject({ disconnectStatusCode: 1006 });
    });
  });

  it.each([
    ["two hours, although it talks", 2 * hours, true],
    ["ten minutes without a message", hours / 6, false],
  ])("ends after %s", async (_, afterMs, talks) => {
    const host = testHost({ ...open, message: () => ({}) });
    // Two hours are 3 s and ten minutes of silence 250 ms, or two hours 1.2 s and ten minutes 100 ms.
    const timeScale = talks ? 2400 : 6000;
    const use = async (url: string) => {
      const { socket, closed } = await client(url);
      const talking = setInterval(() => talks && socket.readyState === socket.OPEN && socket.send("{}"), 10);
      const startedMs = performance.now();
      const { code } = await closed;
      clearInterval(talking);
      expect(code).toBe(1001);
      expect(performance.now() - startedMs).toBeGreaterThan(afterMs / timeScale - 20);
      await eventsSoon(host, "disconnect", 1);
    };
    await withSockets(host, ({ url }) => use(url), { timeScale });
  });

  it("that says nothing does not keep the API from ending, and neither does one that never asked", async () => {
    const host = testHost({ ...open, connect: () => ({ statusCode: 200 }) });
    let left: Client | undefined;
    let raw: Awaited<ReturnType<typeof rawClient>> | undefined;
    await withSockets(host, async ({ url }) => {
      left = await client(url);
      raw = await rawClient(url);
      const { hostname, port } = new URL(url);
      const silent = connect(Number(port), hostname);
      await once(silent, "connect");
      silent.on("error", () => undefined);
    });
    expect((await left?.closed)?.code).toBe(1006);
    await raw?.ended;
  });
});

describe("what is sent to a connection", () => {
  it("arrives in its order, however large, and keeps the connection", async () => {
    const host = testHost(open);
    await withSockets(host, async (sockets) => {
      const { received, next } = await client(sockets.url);
      const id = idOf(eventsOf(host, "connect")[0]);
      const texts = Array.from({ length: 50 }, (_, n) => `${n} ${"x".repeat(n * 2000)}`);
      await Promise.all(texts.map((text) => sockets.post(id, text)));
      for (const _ of texts) await next();
      expect(received).toEqual(texts);
      expect(sockets.shown(id)).toMatchObject({
        connectedAt: "2026-04-09T12:34:56.789Z",
        identity: { sourceIp: "127.0.0.1" },
      });
    });
  });

  it("is refused while $connect runs, and after the connection is closed by its id", async () => {
    const seen: unknown[] = [];
    const host = testHost(open);
    await withSockets(host, async (sockets) => {
      host.functions.set("connect", async (event) => {
        seen.push(await sockets.post(idOf(event), "early").catch((error: unknown) => error));
        return { statusCode: 200 };
      });
      const { closed } = await client(sockets.url);
      expect(seen).toEqual([expect.any(AwsError)]);
      const id = idOf(eventsOf(host, "connect")[0]);
      sockets.close(id);
      expect(await closed).toEqual({ code: 1000, reason: "Connection Closed Normally" });
      for (const call of [() => sockets.close(id), () => sockets.shown(id), () => sockets.close("unknown=")]) {
        expect(call).toThrow(expect.objectContaining({ status: 410 }));
      }
    });
  });

  it("waits for a client that does not read, delays no other, and ends with it", async () => {
    const host = testHost(open);
    await withSockets(host, async (sockets) => {
      const stalled = await client(sockets.url);
      const other = await client(sockets.url);
      const [slowId, otherId] = eventsOf(host, "connect").map(idOf);
      stalled.socket.pause();
      const large = "x".repeat(128 * 1024);
      let waits = true;
      const posts: Promise<unknown>[] = [];
      // The buffers of the loopback take some megabytes; then a post waits for a turn of the client.
      while (waits && posts.length < 1000) {
        const post = sockets.post(String(slowId), large).then(() => "sent");
        posts.push(post.catch((error: AwsError) => error.status));
        waits = (await Promise.race([post, new Promise((resolve) => setImmediate(() => resolve("waits")))])) === "sent";
      }
      expect(posts.length).toBeLessThan(1000);
      await sockets.post(String(otherId), "in time");
      expect(await other.next()).toBe("in time");
      stalled.socket.terminate();
      expect(await posts.at(-1)).toBe(410);
    });
  });
});
