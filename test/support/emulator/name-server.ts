import { createSocket } from "node:dgram";
import { isIP } from "node:net";

/** A name server of a test's own. */
export interface NameServer {
  /** Address and port, as a resolver takes them. */
  readonly address: string;
  /** Names that were asked for, in order, once for each family. */
  readonly asked: string[];
  readonly stop: () => Promise<void>;
}

/** The addresses of a name; undefined for a name that does not exist, "silence" for no answer at all. */
export type Zone = (name: string) => readonly string[] | undefined | "silence";

const typeAaaa = 28;
const noSuchName = 3;

/** Starts a name server (RFC 1035) on a free UDP port of the loopback that answers questions for A and AAAA. */
export async function startNameServer(zone: Zone): Promise<NameServer> {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (query, from) => {
    const { name, type, end } = questionOf(query);
    asked.push(name);
    const addresses = zone(name);
    if (addresses === "silence") return;
    const fitting = (addresses ?? []).filter((address) => isIP(address) === (type === typeAaaa ? 6 : 4));
    const flags = Buffer.from([0x81, 0x80 | (addresses === undefined ? noSuchName : 0)]);
    const counts = Buffer.from([0, 1, 0, fitting.length, 0, 0, 0, 0]);
    const answers = fitting.map((address) => {
      const bytes = bytesOf(address);
      return Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length]), bytes]);
    });
    const reply = Buffer.concat([query.subarray(0, 2), flags, counts, query.subarray(12, end), ...answers]);
    socket.send(reply, from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function questionOf(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString());
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1);
  return { name: labels.join("."), type, end: at + 5 };
}

function bytesOf(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail = ""] = address.split("::");
  const groups = (text: string) => text.split(":").filter((group) => group !== "");
  const missing = 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array<string>(missing).fill("0"), ...groups(tail)];
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}
