import { readFileSync } from "node:fs";
import { connect, isIP, type Socket } from "node:net";
import { resolve } from "node:path";
import { connect as connectTls, createSecureContext } from "node:tls";
import { UsageError } from "../../../shared/runtime/command-line.ts";

/** Contents of the files of a connection over TLS; without `ca` the authorities of Node are trusted. */
export interface Tls {
  readonly ca?: readonly string[] | undefined;
  readonly key?: string | undefined;
  readonly cert?: string | undefined;
}

/** Where a venue listens. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly tls?: Tls;
}

/** Events of a line. */
export interface LineEvents {
  /** There is a connection; over TLS the venue has proved who it is. */
  opened(): void;
  received(bytes: Buffer): void;
  /** Several times a second. */
  tick(): void;
  /** The line has ended, with the error that ended it. */
  closed(error: Error | undefined): void;
}

/** A connection to a venue. */
export interface Line {
  /** Sends bytes, one for each character. */
  write(bytes: string): void;
  /** Ends the connection, when what was written is sent. */
  end(): void;
}

const connectMs = 5000;
const endMs = 500;
const tickMs = 200;

/**
 * Reads the files of a connection over TLS.
 * @param folder the folder of the configuration, to which the paths are relative
 * @throws UsageError the member that names a file which cannot be used
 */
export function readTls(paths: Tls, folder: string): Tls {
  const read = (member: string, path: string) => {
    try {
      return readFileSync(resolve(folder, path), "utf8");
    } catch (error) {
      throw new UsageError(`fix.tls.${member} names ${path}, which cannot be read: ${reasonOf(error)}`);
    }
  };
  const tls = {
    ...(paths.ca !== undefined && { ca: paths.ca.map((path) => read("ca", path)) }),
    ...(paths.key !== undefined && { key: read("key", paths.key) }),
    ...(paths.cert !== undefined && { cert: read("cert", paths.cert) }),
  };
  try {
    createSecureContext(contextOf(tls));
  } catch (error) {
    throw new UsageError(`The files of fix.tls cannot be used: ${reasonOf(error)}`);
  }
  return tls;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function contextOf({ ca, ...rest }: Tls) {
  return { ...rest, ...(ca !== undefined && { ca: [...ca] }) };
}

/** Opens a line to a venue. */
export function openLine({ host, port, tls }: Address, events: LineEvents): Line {
  let error: Error | undefined;
  const socket: Socket =
    tls === undefined
      ? connect(port, host)
      : connectTls({ host, port, ...contextOf(tls), ...(isIP(host) === 0 && { servername: host }) });
  socket.setNoDelay(true);
  const late = setTimeout(() => socket.destroy(new Error("it does not answer")), connectMs);
  const timer = setInterval(() => events.tick(), tickMs);
  socket.once(tls === undefined ? "connect" : "secureConnect", () => {
    clearTimeout(late);
    events.opened();
  });
  socket.on("data", (bytes) => events.received(bytes));
  socket.on("error", (failure) => {
    error = failure;
  });
  socket.once("close", () => {
    clearTimeout(late);
    clearInterval(timer);
    events.closed(error);
  });
  return {
    write: (bytes) => void socket.write(bytes, "latin1"),
    end() {
      if (socket.connecting) return void socket.destroy();
      socket.end();
      setTimeout(() => socket.destroy(), endMs).unref();
    },
  };
}
