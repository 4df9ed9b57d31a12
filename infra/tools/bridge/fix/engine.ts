import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { UsageError } from "../../../../shared/runtime/command-line.ts";

/** A message that was received. Its fields are read by tag; it is valid only while it is handled. */
export interface FixView {
  getString(tag: number): string | null;
  toObject(): Record<string, unknown>;
}

/** Members of a message by their names; components and groups are objects and lists. */
export type FixFields = Readonly<Record<string, unknown>>;

/** Receives that a message was sent, with its header, or why it was not. */
export type FixSent = (error: Error | null, sent?: { readonly header: { readonly MsgSeqNum?: number } | null }) => void;

/** Where the engine keeps the numbers of a session. */
export interface FixStore {
  readonly sessionId: unknown;
  readonly creationTime: Date;
  readonly senderSeqNum: number;
  readonly targetSeqNum: number;
  setSenderSeqNum(value: number): Promise<void>;
  setTargetSeqNum(value: number): Promise<void>;
  nextSenderSeqNum(): Promise<number>;
  nextTargetSeqNum(): Promise<number>;
  put(record: unknown): Promise<void>;
  get(seq: number): Promise<null>;
  getRange(from: number, to: number): Promise<never[]>;
  initialize(): Promise<void>;
  flush(): Promise<void>;
  dispose(): Promise<void>;
  reset(): Promise<void>;
}

/** Settings of a session that the engine hands to it. */
export interface FixConfig {
  sessionStoreFactory: { create(id: unknown): FixStore };
  readonly factory: {
    header(type: string, seq: number, time: Date, more: FixFields): FixFields;
    sequenceReset(next: number, gapFill: boolean): FixFields;
  };
}

/** The session of the engine, as far as this bridge uses and overrides it. */
export declare abstract class FixSession {
  constructor(config: FixConfig);
  readonly config: FixConfig;
  protected onPreLogon(): Promise<void>;
  protected onMsg(type: string, view: FixView): void;
  protected onResendRequest(view: FixView): void;
  protected checkForwardMsg(type: string, view: FixView): void;
  setState(state: number): void;
  lastSentSeqNum(): number;
  protected send(type: string, fields: FixFields, callback?: FixSent): void;
  protected abstract onApplicationMsg(type: string, view: FixView): void;
  protected abstract onReady(view: FixView): void;
  protected abstract onStopped(error?: Error): void;
  protected abstract onLogon(view: FixView, user: string, password: string): boolean;
  protected abstract onDecoded(type: string, text: string): void;
  protected abstract onEncoded(type: string, text: string): void;
  requestStop(reason: string): void;
  on(event: "error", listener: (error: Error) => void): this;
  done(): void;
}

/** What starts a session of the engine. */
export declare class FixLauncher {
  constructor(initiator: FixFields | null, acceptor: FixFields | null, loggers: unknown);
  protected makeFactory(config: FixConfig): { makeSession(config: FixConfig): FixSession };
  run(): Promise<unknown>;
  stop(): void;
}

/** The FIX engine: the package jspurefix (MIT). */
export interface FixEngine {
  readonly AsciiSession: typeof FixSession;
  readonly SessionLauncher: typeof FixLauncher;
  readonly SessionState: { readonly ActiveNormalSession: number };
}

/** Its package and lock file, and where the packages are installed: apart from the sources, as all that tools write. */
const source = new URL("./", import.meta.url);
const folder = new URL("../../../../.local/fix-engine/", import.meta.url);
const installed = new URL("node_modules/.package-lock.json", folder);

/** Whether the packages are those of the lock file. */
function isInstalled(): boolean {
  if (!existsSync(installed)) return false;
  const versionIn = (file: URL) =>
    JSON.parse(readFileSync(file, "utf8")).packages["node_modules/jspurefix"]?.version as string | undefined;
  return versionIn(installed) === versionIn(new URL("package-lock.json", source));
}

function install(say: (sentence: string) => void): void {
  const { dependencies } = JSON.parse(readFileSync(new URL("package.json", source), "utf8"));
  say(`Installing the FIX engine, jspurefix ${dependencies.jspurefix}, about 130 MB, once ...`);
  mkdirSync(folder, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) copyFileSync(new URL(name, source), new URL(name, folder));
  const npm = process.env["npm_execpath"];
  const [command, ...args] = npm === undefined ? ["npm"] : [process.execPath, npm];
  // Its install script unpacks dictionaries that are not used.
  const options = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status } = spawnSync(command, [...args, ...options], { cwd: fileURLToPath(folder), stdio: "inherit" });
  if (status !== 0) throw new UsageError("The FIX engine could not be installed.");
}

/** Installs the engine unless it is there. */
export function installEngine(say: (sentence: string) => void): void {
  if (!isInstalled()) install(say);
}

/** Loads the engine, after it was installed at its first use. */
export function loadEngine(say: (sentence: string) => void): FixEngine {
  installEngine(say);
  const require = createRequire(new URL("package.json", folder));
  require("reflect-metadata");
  return require("jspurefix") as FixEngine;
}

/** The dictionary of a version of FIX, in the form of QuickFIX: it comes with the engine. */
export function dictionaryOf(beginString: string): string {
  return fileURLToPath(new URL(`node_modules/jspurefix/data/${beginString.replaceAll(".", "")}.xml`, folder));
}

class Silence {
  info(): void {}
  warning(): void {}
  debug(): void {}
  error(): void {}
}

/** Loggers that print nothing: the bridge reports what matters. */
export const silentLoggers = { logger: () => new Silence(), plain: () => new Silence() };
