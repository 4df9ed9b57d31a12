import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { limits } from "../../shared/limits.ts";
import { Poster, type PostResult } from "../../shared/webhooks/post.ts";
import { resolverOf } from "../../shared/webhooks/resolve.ts";
import { certificateFor } from "../support/certificate.ts";
import { startNameServer } from "../support/name-server.ts";

const servers: Server[] = [];
const sockets = new Set<Socket>();

/** Listens on a free port of the loopback and remembers its connections, to end them. */
async function listen(server: Server, host = "127.0.0.1"): Promise<number> {
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, host);
  await once(server, "listening");
  servers.push(server);
  return (server.address() as AddressInfo).port;
}

afterEach(() => {
  for (const socket of sockets) socket.destroy();
});
afterAll(() => {
  for (const server of servers) server.close();
});

const nobody = async (): Promise<readonly string[]> => {
  throw new Error("No name is asked for here.");
};
const local = new Poster({ resolve: nobody, local: true });
const body = Buffer.from('{"note":"Zoë 😀"}');

function send(url: string, poster = local, headers: Record<string, string> = {}): Promise<PostResult> {
  return poster.send({ url, headers, body });
}

/** A server that says these bytes to whoever has asked, and then leaves the connection as it is, or closes it. */
async function saying(reply: string | Buffer, close = false): Promise<string> {
  const server = createServer((socket) => {
    socket.once("data", () => {
      if (close) socket.end(reply);
      else socket.write(reply);
    });
  });
  return `http://127.0.0.1:${await listen(server)}/hook`;
}

/** A server of HTTP whose answers are made by the test. */
async function answering(answer: (incoming: IncomingMessage, outgoing: ServerResponse) => void): Promise<string> {
  const server = createHttpServer((incoming, outgoing) => {
    incoming.resume();
    incoming.once("end", () => answer(incoming, outgoing));
  });
  return `http://127.0.0.1:${await listen(server)}`;
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

  it("of 101 is a failure: nobody asked for another protocol", async () => {
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
    const poster = new Poster({ resolve: nobody, local: true });
    for (let call = 0; call < 3; call += 1) {
      poster.wake();
      expect(await send(url, poster)).toMatchObject({ error: null });
    }
    expect(ports.size).toBe(1);
    const now = Date.now;
    try {
      Date.now = () => now() + 1500;
      poster.wake();
      expect(await send(url, poster)).toMatchObject({ error: null });
    } finally {
      Date.now = now;
    }
    expect(ports.size).toBe(2);
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
    const poster = new Poster({ resolve: nobody, local: true });
    for (let call = 0; call < 3; call += 1) expect(await send(url, poster)).toMatchObject({ error: null });
    expect(hits).toBe(5);
    refusing = true;
    expect(await send(url, poster)).toMatchObject({ error: "connection_reset" });
    expect(hits).toBe(7);
    // Its connection is new, so the receiver means what it does.
    expect(await send(url, poster)).toMatchObject({ error: "connection_reset" });
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
      expect(await send(url, new Poster({ resolve: nobody, local: true }))).toMatchObject({ error: null });
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
    // What the sockets of both sides hold is more than what is read of it.
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

describe("time", () => {
  const second = 1000;

  /** Writes these bytes one by one, ten a second, for as long as it can. */
  function drip(text: string): (socket: Socket) => void {
    return (socket) => {
      let at = 0;
      const timer = setInterval(() => {
        socket.write(text[at % text.length] ?? "");
        at += 1;
      }, 100);
      socket.once("close", () => clearInterval(timer));
    };
  }

  it("is up after ten seconds whatever the receiver does", async () => {
    const silent = await listen(createServer());
    const loris = await listen(createServer(drip(`HTTP/1.1 200 OK\r\n${"X: x\r\n".repeat(1000)}`)));
    const deaf = await listen(createServer((socket) => socket.pause()));
    const head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
    const slowBody = createServer((socket) => {
      socket.once("data", () => {
        socket.write(head);
        drip("x")(socket);
      });
    });
    const failing = createServer((socket) => {
      socket.once("data", () => {
        socket.write(head.replace("200 OK", "500 No"));
        drip("x")(socket);
      });
    });
    const [good, bad] = [await listen(slowBody), await listen(failing)];
    const results = await Promise.all([
      ...[silent, loris].map((port) => send(`http://127.0.0.1:${port}`)),
      local.send({ url: `http://127.0.0.1:${deaf}`, headers: {}, body: Buffer.alloc(20_000_000) }),
      ...[good, bad].map((port) => send(`http://127.0.0.1:${port}`)),
    ]);
    for (const { duration_ms } of results) {
      expect(duration_ms).toBeGreaterThanOrEqual(limits.webhooks.attempt_timeout_ms - 10);
      expect(duration_ms).toBeLessThan(limits.webhooks.attempt_timeout_ms + second);
    }
    const seen = results.map(({ error, http_status }) => [error, http_status]);
    const late = ["timeout", null];
    // Whoever has said 200 has accepted the event, however long it goes on talking.
    expect(seen).toEqual([late, late, late, [null, 200], ["http_status", 500]]);
    expect(results[3]?.response_excerpt).toMatch(/^x{50,}$/);
  });

  it("to connect is up after three seconds: for a name, an address and a handshake that never come about", async () => {
    const lost = await startNameServer(() => "silence");
    const handshake = await listen(createServer());
    const never = { resolve: () => new Promise<readonly string[]>(() => {}), local: true };
    const posters = [new Poster({ resolve: resolverOf({ servers: [lost.address] }), local: true }), new Poster(never)];
    const results = await Promise.all([
      ...posters.map((poster) => send("https://receiver.example/", poster)),
      send(`https://127.0.0.1:${handshake}`),
    ]);
    await lost.stop();
    for (const { duration_ms, http_status } of results) {
      expect(http_status).toBeNull();
      expect(duration_ms).toBeLessThan(limits.webhooks.connect_timeout_ms + second);
    }
    expect(results[0]?.error).toMatch(/^(?:timeout|dns_error)$/);
    expect(results.slice(1).map(({ error }) => error)).toEqual(["timeout", "timeout"]);
  });
});

describe("TLS", () => {
  const good = certificateFor("receiver.example");
  const hosts: Record<string, readonly string[]> = {
    "receiver.example": ["127.0.0.1"],
    "other.example": ["127.0.0.1"],
  };
  const resolve = async (name: string) => hosts[name.replace(/\.$/, "")] ?? [];
  const trusting = (ca: string) => new Poster({ resolve, local: true, ca });

  async function secure(certificate: { cert: string; key: string }) {
    const seen: { host: string | undefined; name: unknown }[] = [];
    const server = createHttpsServer(certificate, ({ headers, socket }, outgoing) => {
      seen.push({ host: headers.host, name: (socket as { servername?: unknown }).servername });
      outgoing.end();
    });
    return { port: await listen(server), seen };
  }

  it("is asked for by name, and the name is what the certificate must be for", async () => {
    const { port, seen } = await secure(good);
    expect(await send(`https://receiver.example:${port}/`, trusting(good.cert))).toMatchObject({ error: null });
    expect(await send(`https://receiver.example.:${port}/`, trusting(good.cert))).toMatchObject({ error: null });
    expect(seen).toEqual([
      { host: `receiver.example:${port}`, name: "receiver.example" },
      { host: `receiver.example.:${port}`, name: "receiver.example" },
    ]);
    expect(await send(`https://other.example:${port}/`, trusting(good.cert))).toMatchObject({ error: "tls_error" });
    expect(seen).toHaveLength(2);
  });

  it("that nobody vouches for, that has expired, or that is none is refused", async () => {
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    try {
      const { port, seen } = await secure(good);
      const unknown = new Poster({ resolve, local: true });
      expect(await send(`https://receiver.example:${port}/`, unknown)).toMatchObject({ error: "tls_error" });
      const expired = certificateFor("receiver.example", -1);
      const old = await secure(expired);
      expect(await send(`https://receiver.example:${old.port}/`, trusting(expired.cert))).toMatchObject({
        error: "tls_error",
      });
      expect([...seen, ...old.seen]).toEqual([]);
    } finally {
      delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    }
    const plain = await answering((_, outgoing) => outgoing.end());
    expect(await send(plain.replace("http", "https"))).toMatchObject({ error: "tls_error" });
  });
});

describe("an address that is not public", () => {
  /** Counts the connections that come to this machine, on both families. */
  async function counting() {
    const seen: (string | undefined)[] = [];
    const server = createHttpServer((_, outgoing) => outgoing.end());
    server.on("connection", ({ remoteAddress }) => seen.push(remoteAddress));
    const port = await listen(server, "::");
    return { port, seen };
  }

  const strict = (resolve = resolverOf()) => new Poster({ resolve, local: false });

  it.each([
    ...["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.0.1."],
    ...["%31%32%37.0.0.1", "①②⑦.0.0.1", "[::1]", "[0:0::0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"],
    ...["[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "0", "0.0.0.0", "[::]", "169.254.169.254"],
    ...["localhost", "LOCALHOST", "localhost.", "a.localhost", "user:pass@127.0.0.1", "10.0.0.1", "[fe80::1]"],
  ])("is not connected to when it is written %s", async (host) => {
    const { port, seen } = await counting();
    for (const scheme of ["https", "http"]) {
      const result = await send(`${scheme}://${host}:${port}/`, strict());
      expect(result).toMatchObject({ error: "blocked_address", http_status: null, response_excerpt: null });
    }
    expect(seen).toEqual([]);
  });

  it("is not connected to when a name stands for it, alone or with others like it", async () => {
    const { port, seen } = await counting();
    const inside = ["127.0.0.1", "::1", "10.1.2.3", "169.254.169.254", "fd00:ec2::254", "::ffff:7f00:1"];
    const server = await startNameServer((name) => (name === "all.example" ? inside : [inside[Number(name[0])] ?? ""]));
    const poster = strict(resolverOf({ servers: [server.address] }));
    for (const name of ["all.example", ...inside.map((_, index) => `${index}.example`)]) {
      expect(await send(`https://${name}:${port}/`, poster)).toMatchObject({ error: "blocked_address" });
    }
    await server.stop();
    expect(seen).toEqual([]);
  });

  it("is left out of a mixed answer: the connection goes to what remains and nowhere else", async () => {
    const { port, seen } = await counting();
    const server = await startNameServer(() => ["10.255.255.1", "169.254.169.254", "127.0.0.1", "fd00::1", "fe80::1"]);
    const poster = new Poster({ resolve: resolverOf({ servers: [server.address] }), local: true });
    expect(await send(`http://mixed.example:${port}/`, poster)).toMatchObject({ error: null, http_status: 200 });
    await server.stop();
    expect(seen).toEqual(["::ffff:127.0.0.1"]);
  });

  it("is not reached by a name that changes between the check and the connection: it is asked for once", async () => {
    const { port, seen } = await counting();
    let question = 0;
    const server = await startNameServer(() => {
      question += 1;
      // The two families are two questions; everything after them would be a second look.
      return question <= 2 ? ["127.0.0.2"] : ["127.0.0.1"];
    });
    const poster = new Poster({ resolve: resolverOf({ servers: [server.address] }), local: true });
    let connected: string | undefined;
    servers.at(-1)?.once("connection", ({ localAddress }: Socket) => {
      connected = localAddress;
    });
    expect(await send(`http://rebinding.example:${port}/`, poster)).toMatchObject({ error: null });
    expect(connected).toBe("::ffff:127.0.0.2");
    expect(server.asked).toEqual(["rebinding.example", "rebinding.example"]);
    expect(seen).toHaveLength(1);
    await server.stop();
  });

  it("is refused at the next connection when a name has come to stand for it", async () => {
    const { port, seen } = await counting();
    let address = "127.0.0.1";
    const server = await startNameServer(() => [address]);
    const poster = new Poster({ resolve: resolverOf({ servers: [server.address] }), local: true });
    expect(await send(`http://turning.example:${port}/`, poster)).toMatchObject({ error: null });
    for (const socket of sockets) socket.destroy();
    address = "192.168.0.1";
    const other = new Poster({ resolve: resolverOf({ servers: [server.address] }), local: true });
    expect(await send(`http://turning.example:${port}/`, other)).toMatchObject({ error: "blocked_address" });
    await server.stop();
    expect(seen).toHaveLength(1);
  });

  it("is told from a name that has none or does not exist", async () => {
    const server = await startNameServer((name) => (name === "empty.example" ? [] : undefined));
    const poster = strict(resolverOf({ servers: [server.address] }));
    for (const name of ["empty.example", "missing.example"]) {
      expect(await send(`https://${name}/`, poster)).toMatchObject({ error: "dns_error" });
    }
    await server.stop();
  });

  it("is not spared by plain http, which goes nowhere but on a local runner", async () => {
    const poster = strict(async () => ["8.8.8.8"]);
    expect(await send("http://receiver.example/", poster)).toMatchObject({ error: "blocked_address" });
    for (const poster of [local, strict()]) {
      expect(await send("ftp://127.0.0.1/", poster)).toMatchObject({ error: "blocked_address" });
    }
  });
});
