import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Writes a file that only its owner can read, so that a reader sees the old one or the new one and never a part. */
export function writePrivately(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}+${process.pid}`;
  writeFileSync(draft, content, { mode: 0o600 });
  renameSync(draft, path);
}

/** A value kept in a file of JSON. It is small, so every change writes all of it before the change is acknowledged. */
export class StateFile<T> {
  private readonly path: string;
  value: T;

  constructor(path: string, initial: T) {
    this.path = path;
    this.value = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : initial;
  }

  /** Keeps the value as it is now. */
  save(): void {
    writePrivately(this.path, JSON.stringify(this.value));
  }
}
