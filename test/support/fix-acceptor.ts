import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

const stamp = () => new Date().toISOString().replaceAll("-", "").replace("T", "-").replace("Z", "");

/** Bytes of a message of the venue, of which a test may change the header. */
export function framed(type: string, seq: number | string, body: string, header: FixHeader = {}): string {
  const { version = "FIX.4.4", sender = "VENUE", target = "BROKERAGE", sent = stamp(), length = 0 } = header;
  const fields = `35=${type}|49=${sender}|56=${target}|34=${seq}|52=${sent}|${body}|`.replaceAll("|", "\x01");
  const text = `8=${version}\x019=${String(fields.length + length).padStart(7, "0")}\x01${fields}`;
  const sum = Buffer.from(text).reduce((total, byte) => total + byte, 0) % 256;
  return `${text}10=${String(sum).padStart(3, "0")}\x01`;
}

/** Changes of a test to the header; `length` is added to BodyLength. */
export interface FixHeader {
  readonly version?: string;
  readonly sender?: string;
  readonly target?: string;
  readonly sent?: string;
  readonly length?: number;
}

/** A message that a bridge sent. */
export interface ReceivedFix {
  readonly type: string;
  get(tag: number): string | undefined;
}

/** A venue that logs on, keeps its messages and repeats them when it is asked to, byte for byte as a test says. */
export class FixAcceptor {
  readonly received: ReceivedFix[] = [];
  /** Type and body of each message that is not administrative, by its number. */
  private readonly kept = new Map<number, readonly [type: string, body: string]>();
  private readonly answer: (message: ReceivedFix, send: (type: string, body: string) => void) => void;
  private readonly sockets = new Set<Socket>();
  private next = 1;
  private readonly server: ReturnType<typeof createServer>;

  /**
   * @param answer what a message of the bridge is answered with
   * @param tls certificates of a venue over TLS
   */
  constructor(
    answer: (message: ReceivedFix, send: (type: string, body: string) => void) => void = () => undefined,
    tls?: TlsOptions,
  ) {
    this.answer = answer;
    const accept = (socket: Socket) => {
      this.sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("data", (data) => {
        for (const text of data.toString().split(/(?=8=FIX)/)) this.receive(text, socket);
      });
    };
    this.server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept);
    this.server.on("tlsClientError", () => undefined);
  }

  /** Listens; returns the port. */
  async listen(): Promise<number> {
    await once(this.server.listen(0, "127.0.0.1"), "listening");
    return (this.server.address() as { port: number }).port;
  }

  /** Keeps messages, which are sent in one packet to every connection that is there. */
  send(...messages: readonly (readonly [type: string, body: string])[]): void {
    const texts = messages.map(([type, body]) => {
      this.kept.set(this.next, [type, body]);
      return framed(type, this.next++, body);
    });
    for (const socket of this.sockets) socket.write(texts.join(""));
  }

  /** Keeps a message, and sends other bytes in its place; they are made of its number. */
  sendBroken(type: string, body: string, bytes: (seq: number) => string): void {
    this.kept.set(this.next, [type, body]);
    const text = bytes(this.next++);
    for (const socket of this.sockets) socket.write(text);
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }

  private receive(text: string, socket: Socket): void {
    const fields = new Map(text.split("\x01").map((pair) => pair.split("=") as [string, string]));
    const message = { type: fields.get("35") ?? "", get: (tag: number) => fields.get(String(tag)) };
    this.received.push(message);
    if (message.type === "A") socket.write(framed("A", this.next++, "98=0|108=30"));
    if (message.type === "2") this.repeat(Number(message.get(7)), socket);
    this.answer(message, (type, body) => this.send([type, body]));
  }

  private repeat(from: number, socket: Socket): void {
    for (let seq = from; seq < this.next; seq += 1) {
      const [type, body] = this.kept.get(seq) ?? ["4", `123=Y|36=${seq + 1}`];
      socket.write(framed(type, seq, `43=Y|122=${stamp()}|${body}`));
    }
  }
}
