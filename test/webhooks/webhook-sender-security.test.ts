import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer, type Socket } from "node:net";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { limits } from "../../shared/limits.ts";
import { resolverOf } from "../../shared/webhooks/resolve.ts";
import { WebhookSender } from "../../shared/webhooks/webhook-sender.ts";
import { startNameServer } from "../support/emulator/name-server.ts";
import { certificateFor } from "../support/stack/certificate.ts";
import {
  answering,
  endConnections,
  endServers,
  listen,
  local,
  send,
  servers,
  sockets,
} from "./webhook-sender-server.ts";

afterEach(endConnections);
afterAll(endServers);

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
    for (const { duration_ms } of results.slice(0, 3)) {
      expect(duration_ms).toBeGreaterThanOrEqual(limits.webhooks.attempt_timeout_ms - 10);
      expect(duration_ms).toBeLessThan(limits.webhooks.attempt_timeout_ms + second);
    }
    // The result is known, so the worker is free for others.
    for (const { duration_ms } of results.slice(3)) {
      expect(duration_ms).toBeGreaterThanOrEqual(limits.webhooks.reply_ms - 10);
      expect(duration_ms).toBeLessThan(limits.webhooks.reply_ms + second);
    }
    const seen = results.map(({ error, http_status }) => [error, http_status]);
    const late = ["timeout", null];
    // A receiver that answered 200 has accepted the event, however long it goes on sending.
    expect(seen).toEqual([late, late, late, [null, 200], ["http_status", 500]]);
    expect(results[3]?.response_excerpt).toMatch(/^x+$/);
  });

  it("to connect is up after three seconds: for a name, an address and a handshake that never come about", async () => {
    const lost = await startNameServer(() => "silence");
    const handshake = await listen(createServer());
    const never = { resolve: () => new Promise<readonly string[]>(() => {}), local: true };
    const senders = [
      new WebhookSender({ resolve: resolverOf({ servers: [lost.address] }), local: true }),
      new WebhookSender(never),
    ];
    const results = await Promise.all([
      ...senders.map((sender) => send("https://receiver.example/", sender)),
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
  const trusting = (ca: string) => new WebhookSender({ resolve, local: true, ca });

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

  it("that noLookup vouches for, that has expired, or that is none is refused", async () => {
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    try {
      const { port, seen } = await secure(good);
      const unknown = new WebhookSender({ resolve, local: true });
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

  const strict = (resolve = resolverOf()) => new WebhookSender({ resolve, local: false });

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
    const sender = strict(resolverOf({ servers: [server.address] }));
    for (const name of ["all.example", ...inside.map((_, index) => `${index}.example`)]) {
      expect(await send(`https://${name}:${port}/`, sender)).toMatchObject({ error: "blocked_address" });
    }
    await server.stop();
    expect(seen).toEqual([]);
  });

  it("is left out of a mixed answer: the connection goes to what remains and nowhere else", async () => {
    const { port, seen } = await counting();
    const server = await startNameServer(() => ["10.255.255.1", "169.254.169.254", "127.0.0.1", "fd00::1", "fe80::1"]);
    const sender = new WebhookSender({ resolve: resolverOf({ servers: [server.address] }), local: true });
    expect(await send(`http://mixed.example:${port}/`, sender)).toMatchObject({ error: null, http_status: 200 });
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
    const sender = new WebhookSender({ resolve: resolverOf({ servers: [server.address] }), local: true });
    let connected: string | undefined;
    servers.at(-1)?.once("connection", ({ localAddress }: Socket) => {
      connected = localAddress;
    });
    expect(await send(`http://rebinding.example:${port}/`, sender)).toMatchObject({ error: null });
    expect(connected).toBe("::ffff:127.0.0.2");
    expect(server.asked).toEqual(["rebinding.example", "rebinding.example"]);
    expect(seen).toHaveLength(1);
    await server.stop();
  });

  it("is refused at the next connection when a name has come to stand for it", async () => {
    const { port, seen } = await counting();
    let address = "127.0.0.1";
    const server = await startNameServer(() => [address]);
    const sender = new WebhookSender({ resolve: resolverOf({ servers: [server.address] }), local: true });
    expect(await send(`http://turning.example:${port}/`, sender)).toMatchObject({ error: null });
    for (const socket of sockets) socket.destroy();
    address = "192.168.0.1";
    const other = new WebhookSender({ resolve: resolverOf({ servers: [server.address] }), local: true });
    expect(await send(`http://turning.example:${port}/`, other)).toMatchObject({ error: "blocked_address" });
    await server.stop();
    expect(seen).toHaveLength(1);
  });

  it("is distinguished from a name that has none or does not exist", async () => {
    const server = await startNameServer((name) => (name === "empty.example" ? [] : undefined));
    const sender = strict(resolverOf({ servers: [server.address] }));
    for (const name of ["empty.example", "missing.example"]) {
      expect(await send(`https://${name}/`, sender)).toMatchObject({ error: "dns_error" });
    }
    await server.stop();
  });

  it("is not spared by plain http, which goes nowhere but on a local runner", async () => {
    const sender = strict(async () => ["8.8.8.8"]);
    expect(await send("http://receiver.example/", sender)).toMatchObject({ error: "blocked_address" });
    for (const sender of [local, strict()]) {
      expect(await send("ftp://127.0.0.1/", sender)).toMatchObject({ error: "blocked_address" });
    }
  });
});
