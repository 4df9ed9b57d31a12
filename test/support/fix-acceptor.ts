import { once } from "node:events";
import { createServer, type Socket } from "node:net";

const stamp = () => new Date().toISOString().replaceAll("-", "").replace("T", "-").replace("Z", "");

function framed(type: string, seq: number, body: string): string {
  const fields = `35=${type}|49=VENUE|56=BROKERAGE|34=${seq}|52=${stamp()}|${body}|`.replaceAll("|", "\x01");
  const text = `8=FIX.4.4\x019=${String(fields.length).padStart(7, "0")}\x01${fields}`;
  const sum = Buffer.from(text).reduce((total, byte) => total + byte, 0) % 256;
  return `${text}10=${String(sum).padStart(3, "0")}\x01`;
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
  private readonly server = createServer((socket) => {
    this.sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      for (const text of data.toString().split(/(?=8=FIX)/)) this.receive(text, socket);
    });
  });

  /** @param answer what a message of the bridge is answered with */
  constructor(answer: (message: ReceivedFix, send: (type: string, body: string) => void) => void = () => undefined) {
    this.answer = answer;
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
      socket.write(framed(type, seq, `43=Y|${body}`));
    }
  }
}
