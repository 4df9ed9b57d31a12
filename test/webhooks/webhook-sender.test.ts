import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { limits } from "../../shared/limits.ts";
import { WebhookSender } from "../../shared/webhooks/webhook-sender.ts";
import { answering, body, endConnections, endServers, listen, local, noLookup, send } from "./webhook-sender-server.ts";

afterEach(endConnections);
afterAll(endServers);

/** A server that says these bytes to each caller, and then leaves the connection as it is, or closes it. */
async function saying(reply: string | Buffer, close = false): Promise<string> {
  const server = createServer((socket) => {
    socket.once("data", () => {
      if (close) socket.end(reply);
      else socket.write(reply);
    });
  });
  return `http://127.0.0.1:${await listen(server)}/hook`;
}

describe("a status", () => {
  it("is a success from 200 to 299 and a failure everywhere else up to 599", async () => {
    const url = await answering(({ url: path = "" }, outgoing) => outgoing.writeHead(Number(path.slice(1))).end());
    for (let status = 200; status < 600; status += 1) {
      const result = await send(`${url}/${status}`);
      const accepted = status < 300;
      expect(result).toMatchObject({ http_status: status, error: accepted ? null : "http_status" });
    }
  });

  it.each([100, 102, 103, 150, 199])("of %i is none, and the one after it counts", async (status) => {
    const interim = `HTTP/1.1 ${status} Interim\r\n\r\n`;
    const accepted = await send(await saying(`${interim}HTTP/1.1 204 No Content\r\n\r\n`));
    expect(accepted).toMatchObject({ http_status: 204, error: null });
    const refused = await send(await saying(`${interim}HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n`));
    expect(refused).toMatchObject({ http_status: 500, error: "http_status" });
  });

  it("of 101 is a failure: noLookup asked for another protocol", async () => {
    const url = await saying("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    expect(await send(url)).toMatchObject({ http_status: 101, error: "http_status" });
  });

  it.each([301, 302, 303, 307, 308])("of %i is a failure and is not followed", async (status) => {
    let hits = 0;
    const canary = await answering((_, outgoing) => {
      hits += 1;
      outgoing.end();
    });
    const url = await answering((_, outgoing) => outgoing.writeHead(status, { Location: canary }).end());
    expect(await send(url)).toMatchObject({ http_status: status, error: "http_status" });
    expect(hits).toBe(0);
  });

  it("counts once it is there: a reply that goes on for ever is read for a moment", async () => {
    const url = await answering((_, outgoing) => {
      const timer = setInterval(() => outgoing.write("x"), 20);
      outgoing.on("close", () => clearInterval(timer));
    });
    const { duration_ms, ...result } = await send(url);
    expect(result).toMatchObject({ http_status: 200, error: null, response_excerpt: expect.stringMatching(/^x+$/) });
    expect(duration_ms).toBeLessThan(limits.webhooks.attempt_timeout_ms / 2);
  });

  it("brings a Retry-After along where it counts, and nowhere else", async () => {
    const url = await answering(({ url: path = "" }, outgoing) =>
      outgoing.writeHead(Number(path.slice(1)), { "Retry-After": "120" }).end(),
    );
    for (const [status, asked] of [
      [200, undefined],
      [429, "120"],
      [500, undefined],
      [503, "120"],
    ] as const) {
      expect((await send(`${url}/${status}`)).retry_after).toBe(asked);
    }
  });
});

describe("a call", () => {
  it("carries exactly its bytes and headers, the path and query of its address, and no others'", async () => {
    const seen: { incoming: IncomingMessage; text: string }[] = [];
    const server = createHttpServer(async (incoming, outgoing) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      seen.push({ incoming, text: Buffer.concat(chunks).toString() });
      outgoing.end("thanks");
    });
    const port = await listen(server);
    const result = await send(`http://127.0.0.1:${port}/a%20b/?c=%0d%0aX:1&d`, local, { "webhook-id": "evt_1" });
    expect(result).toMatchObject({ http_status: 200, error: null, response_excerpt: "thanks" });
    const { incoming, text } = seen[0] ?? {};
    expect(text).toBe(body.toString());
    expect(incoming).toMatchObject({ method: "POST", url: "/a%20b/?c=%0d%0aX:1&d" });
    expect(incoming?.headers).toEqual({
      "webhook-id": "evt_1",
      "content-length": String(body.length),
      host: `127.0.0.1:${port}`,
      connection: "keep-alive",
    });
  });

  it("with a line end in a header is not made", async () => {
    let hits = 0;
    const url = await answering((_, outgoing) => {
      hits += 1;
      outgoing.end();
    });
    await expect(send(url, local, { "X-Service-Event": "a\r\nX-Injected: 1" })).rejects.toThrow();
    await expect(send("no address", local)).rejects.toThrow();
    expect(hits).toBe(0);
  });

  it("uses a connection again while it is warm, and a new one after a pause", async () => {
    const ports = new Set<number | undefined>();
    const url = await answering(({ socket }, outgoing) => {
      ports.add(socket.remotePort);
      outgoing.end("ok");
    });
    const sender = new WebhookSender({ resolve: noLookup, local: true });
    for (let call = 0; call < 3; call += 1) {
      sender.wake();
      expect(await send(url, sender)).toMatchObject({ error: null });
    }
    expect(ports.size).toBe(1);
    const now = Date.now;
    try {
      Date.now = () => now() + 1500;
      sender.wake();
      expect(await send(url, sender)).toMatchObject({ error: null });
    } finally {
      Date.now = now;
    }
    expect(ports.size).toBe(2);
  });

  it("keeps its connection while it runs, whatever begins meanwhile", async () => {
    const sender = new WebhookSender({ resolve: noLookup, local: true });
    const url = await answering((_, outgoing) => {
      sender.wake();
      outgoing.end("ok");
    });
    expect(await send(url, sender)).toMatchObject({ error: null, http_status: 200 });
  });

  it("is made once more, on a new connection, when its receiver had closed the free one", async () => {
    const served = new WeakMap<Socket, number>();
    let [hits, refusing] = [0, false];
    const url = await answering(({ socket }, outgoing) => {
      hits += 1;
      const before = served.get(socket) ?? 0;
      served.set(socket, before + 1);
      if (before > 0 || refusing) socket.resetAndDestroy();
      else outgoing.end("ok");
    });
    const sender = new WebhookSender({ resolve: noLookup, local: true });
    for (let call = 0; call < 3; call += 1) expect(await send(url, sender)).toMatchObject({ error: null });
    expect(hits).toBe(5);
    refusing = true;
    expect(await send(url, sender)).toMatchObject({ error: "connection_reset" });
    expect(hits).toBe(7);
    // Its connection is new, so the receiver means what it does.
    expect(await send(url, sender)).toMatchObject({ error: "connection_reset" });
    expect(hits).toBe(8);
  });

  it("knows no proxy, whatever the environment says", async () => {
    let hits = 0;
    const proxy = await listen(
      createServer((socket) => {
        hits += 1;
        socket.destroy();
      }),
    );
    const url = await answering((_, outgoing) => outgoing.end());
    const names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    for (const name of names) process.env[name] = `http://127.0.0.1:${proxy}`;
    process.env["NODE_USE_ENV_PROXY"] = "1";
    try {
      expect(await send(url, new WebhookSender({ resolve: noLookup, local: true }))).toMatchObject({ error: null });
    } finally {
      for (const name of [...names, "NODE_USE_ENV_PROXY"]) delete process.env[name];
    }
    expect(hits).toBe(0);
  });
});

describe("a connection that fails", () => {
  it("is refused, reset before or after the call, or closed without an answer", async () => {
    const closed = createServer();
    const port = await listen(closed);
    await new Promise((resolve) => closed.close(resolve));
    expect(await send(`http://127.0.0.1:${port}`)).toMatchObject({ error: "connection_refused", http_status: null });
    const resetting = await listen(createServer((socket) => socket.resetAndDestroy()));
    expect(await send(`http://127.0.0.1:${resetting}`)).toMatchObject({ error: "connection_reset" });
    const breaking = await listen(createServer((socket) => socket.once("data", () => socket.resetAndDestroy())));
    expect(await send(`http://127.0.0.1:${breaking}`)).toMatchObject({ error: "connection_reset" });
    expect(await send(await saying("", true))).toMatchObject({ error: "connection_reset" });
  });

  it.each([
    ["no HTTP", "SSH-2.0-OpenSSH_9.6\r\n\r\n"],
    ["a status line without a status", "HTTP/1.1 OK\r\n\r\n"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
    ["another version", "HTTP/9.9 200 OK\r\n\r\n"],
    ["a length that is none", "HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
    ["a length and chunks", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["a header of 20 KB", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(20_000)}\r\n\r\n`],
    ["a header with a zero byte", "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n"],
    ["zero bytes", "\0\0\0\0\0\0\0\0"],
  ])("answers with %s, which is no answer", async (_, reply) => {
    expect(await send(await saying(reply))).toMatchObject({ error: "http_status", http_status: null });
  });

  it.each([
    ["chunks that are none", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
    ["less than it says", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"],
    ["a trailer that never ends", `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ${"x".repeat(20_000)}`],
    ["more than it says", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and HTTP/1.1 500 No\r\n\r\n"],
  ])("is accepted by its status when it goes on with %s", async (_, reply) => {
    expect(await send(await saying(reply, true))).toMatchObject({ error: null, http_status: 200 });
  });

  it("does not spoil the next call when an answer is followed by another one", async () => {
    const stuffed = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n";
    const url = await saying(stuffed);
    expect(await send(url)).toMatchObject({ http_status: 200 });
    expect(await send(url)).toMatchObject({ http_status: 200 });
  });
});

describe("a reply", () => {
  it("is kept as text of at most 4 KiB that cuts no character in two", async () => {
    const url = await answering((_, outgoing) => outgoing.end(`a${"😀".repeat(5000)}`));
    const { response_excerpt: excerpt } = await send(url);
    expect(excerpt).toMatch(/^a(?:😀)+\u{fffd}?$/u);
    expect(Buffer.byteLength(excerpt ?? "")).toBeLessThanOrEqual(limits.webhooks.excerpt_max_bytes);
    expect(Buffer.byteLength(excerpt ?? "")).toBeGreaterThan(limits.webhooks.excerpt_max_bytes - 8);
  });

  it("that is no text is kept as text all the same, in 4 KiB", async () => {
    const url = await answering((_, outgoing) => outgoing.end(Buffer.alloc(10_000, 0xff)));
    const { response_excerpt: excerpt } = await send(url);
    expect(excerpt).toMatch(/^\u{fffd}+$/u);
    expect(Buffer.byteLength(excerpt ?? "")).toBeLessThanOrEqual(limits.webhooks.excerpt_max_bytes);
    const control = await answering((_, outgoing) => outgoing.end("a\u001b[2Jb\0c\td\n"));
    expect((await send(control)).response_excerpt).toBe("a\u{fffd}[2Jb\u{fffd}c\td\n");
  });

  it("without a body keeps nothing", async () => {
    expect(await send(await answering((_, outgoing) => outgoing.writeHead(204).end()))).toMatchObject({
      response_excerpt: null,
    });
  });

  it.each(["gzip", "deflate", "br", "zstd", "gzip, gzip"])(
    "that is compressed with %s is not opened",
    async (coding) => {
      const bomb = gzipSync(gzipSync(Buffer.alloc(50_000_000)));
      const url = await answering((_, outgoing) => outgoing.writeHead(200, { "Content-Encoding": coding }).end(bomb));
      const before = process.memoryUsage().rss;
      expect(await send(url)).toMatchObject({ http_status: 200, response_excerpt: null });
      expect(process.memoryUsage().rss - before).toBeLessThan(30_000_000);
    },
  );

  it("that never ends is read for 64 KiB, and the connection is closed", async () => {
    let written = 0;
    const url = await answering((_, outgoing) => {
      outgoing.on("error", () => undefined);
      const more = () => {
        while (!outgoing.destroyed && outgoing.write("x".repeat(16_384))) written += 16_384;
      };
      outgoing.on("drain", more);
      more();
    });
    const result = await send(url);
    expect(result).toMatchObject({ http_status: 200, error: null });
    expect(result.duration_ms).toBeLessThan(3000);
    // The sockets of both sides hold more than what is read of them.
    expect(written).toBeLessThan(20_000_000);
    expect(result.response_excerpt).toHaveLength(limits.webhooks.excerpt_max_bytes);
  });

  it("of endless interim answers is broken off", async () => {
    const server = createServer((socket) => {
      const more = () => {
        while (!socket.destroyed && socket.write(`HTTP/1.1 103 Early Hints\r\nX: ${"x".repeat(1000)}\r\n\r\n`));
      };
      socket.on("drain", more);
      socket.once("data", more);
    });
    const result = await send(`http://127.0.0.1:${await listen(server)}`);
    expect(result).toMatchObject({ error: "http_status", http_status: null });
    expect(result.duration_ms).toBeLessThan(3000);
  });
});
