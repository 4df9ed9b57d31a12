/**
 * The queue server, bound to the loopback: it would listen on every address of the machine, and knows no option for
 * that. Settings come from its own environment variables.
 */
import { Server } from "node:net";

const { listen } = Server.prototype;
/** @this {Server} @param {any[]} args */
Server.prototype.listen = function listenOnLoopback(...args) {
  const [options] = args;
  if (typeof options === "object" && options !== null && "port" in options) options.host = "127.0.0.1";
  return Reflect.apply(listen, this, args);
};

const { startFauxqs } = await import("fauxqs");
const { FAUXQS_PORT: port, FAUXQS_DATA_DIR: dataDir } = process.env;
await startFauxqs({ port: Number(port), logger: false, ...(dataDir && { dataDir }) });
