import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../support/wait.ts";

const root = new URL("../..", import.meta.url).pathname;
let clone: string;
let started: ChildProcess | undefined;

interface Ready {
  readonly base_url: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly tenant_id: string;
  readonly pid: number;
  readonly reference_url: string;
}

/** A copy of what is under version control, with the packages linked: what a newcomer has after the install. */
beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), "brokerage-clone-"));
  const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" });
  for (const file of files.split("\n").filter((name) => name !== "" && existsSync(join(root, name)))) {
    cpSync(join(root, file), join(clone, file));
  }
  symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
  // The stage was synthesized from the same sources for this run, by the function that `npm start` calls.
  cpSync(inject("assemblyDir"), join(clone, ".local/cdk", basename(inject("assemblyDir"))), { recursive: true });
});
afterAll(() => {
  started?.kill("SIGKILL");
  rmSync(clone, { recursive: true, force: true });
});

/** `npm start`, until it says that it is ready. */
async function npmStart(): Promise<Ready> {
  const child = spawn("npm", ["start", "--silent", "--", "--port", "0"], {
    cwd: clone,
    stdio: ["ignore", "pipe", "pipe"],
  });
  started = child;
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += String(chunk)));
  const file = join(clone, ".local/ready.json");
  const text = await eventually(() => {
    if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}:\n${output}`);
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  }, 60_000);
  return JSON.parse(text) as Ready;
}

/** Processes that run out of this clone or on its data, by their command line and working folder. */
function processesOfClone(): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
      return line.includes(clone) || environment.includes(`PWD=${clone}`);
    } catch {
      return false;
    }
  });
}

const gone = (withinMs: number) => eventually(() => processesOfClone().length === 0 || undefined, withinMs);

/** The shell commands of the README's walk. */
function walkOfReadme(): string {
  const blocks = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/```sh\n([\s\S]*?)```/g)].map(
    ([, text]) => text ?? "",
  );
  const walk = blocks.find((text) => text.includes("oauth/token"));
  if (walk === undefined) throw new Error("The README has no walk.");
  return walk;
}

describe.runIf(process.platform === "linux")(
  "npm start on a fresh copy",
  () => {
    it("serves the README's walk on the loopback only, and SIGTERM ends all of its children", async () => {
      const ready = await npmStart();
      const output = execFileSync("bash", ["-e", "-o", "pipefail", "-c", walkOfReadme()], {
        cwd: clone,
        encoding: "utf8",
      });
      const lines = output.trim().split("\n");
      expect(lines.slice(0, 2)).toEqual(["completed", "1000.00"]);
      expect(output).toContain('"object":"ledger_entry"');
      expect(output).toContain('"type":"client.created"');
      const reference = await fetch(ready.reference_url);
      expect([reference.status, reference.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      expect(await reference.text()).toContain(`"servers":[{"url":"${ready.base_url}"`);
      expect((await fetch(new URL("/v2/clients", ready.reference_url))).status).toBe(404);
      expect(new URL(ready.base_url).hostname).toBe("127.0.0.1");
      expect(listeners().filter((address) => address !== "0100007F")).toEqual([]);
      process.kill(ready.pid, "SIGTERM");
      await gone(5_000);
      expect(existsSync(join(clone, ".local/ready.json"))).toBe(false);
    });
  },
  120_000,
);

/** Local addresses, in hexadecimal, of the sockets that the processes of the clone listen on. */
function listeners(): string[] {
  const inodes = new Set(processesOfClone().flatMap(socketsOf));
  return ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === "0A" && inodes.has(inode ?? ""))
      .map(([, local = ""]) => local.split(":")[0] ?? ""),
  );
}

function socketsOf(pid: string): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((fd) => {
    try {
      const target = readlinkSync(join(folder, fd));
      return /^socket:\[(\d+)\]/.exec(target)?.[1] ?? [];
    } catch {
      return [];
    }
  });
}
