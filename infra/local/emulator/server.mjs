/**
 * The server of queues and buckets, bound to the loopback: it would listen on every address of the machine, and has no
 * option for that. Settings come from its own environment variables.
 */
import { Server } from "node:net";
import { DatabaseSync } from "node:sqlite";

const { listen } = Server.prototype;
/** @this {Server} @param {any[]} args */
Server.prototype.listen = function listenOnLoopback(...args) {
  const [options] = args;
  if (typeof options === "object" && options !== null && "port" in options) options.host = "127.0.0.1";
  return Reflect.apply(listen, this, args);
};

// It waits for the disk after every message, which costs milliseconds each. What is written survives the end of this
// process without that, and a machine that goes down may lose messages: the table knows what is due.
const { exec } = DatabaseSync.prototype;
/** @this {DatabaseSync} @param {string} sql */
DatabaseSync.prototype.exec = function execWithoutWaiting(sql) {
  Reflect.apply(exec, this, [sql]);
  if (sql.includes("journal_mode")) Reflect.apply(exec, this, ["PRAGMA synchronous = OFF"]);
};

const { startFauxqs } = await import("fauxqs");
const { FAUXQS_PORT: port, FAUXQS_DATA_DIR: dataDir } = process.env;
await startFauxqs({ port: Number(port), logger: false, ...(dataDir && { dataDir }) });
