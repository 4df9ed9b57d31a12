import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * A file that lines are appended to. When it is full it becomes `<name>.1`, and the one before that is gone. Lines that
 * the disk does not take are dropped, which is said once: the service goes on without them.
 */
export class LogFile {
  private readonly path: string;
  private readonly maxBytes: number;
  private bytes: number;
  private drops = false;

  constructor(path: string, maxBytes: number) {
    mkdirSync(dirname(path), { recursive: true });
    this.path = path;
    this.maxBytes = maxBytes;
    this.bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Appends bytes as they are; a caller that writes lines ends them itself. */
  append(chunk: string | Uint8Array): void {
    try {
      if (this.bytes > this.maxBytes) {
        renameSync(this.path, `${this.path}.1`);
        this.bytes = 0;
      }
      appendFileSync(this.path, chunk, { mode: 0o600 });
      this.bytes += chunk.length;
      this.drops = false;
    } catch (error) {
      if (!this.drops) console.error(`Lines of a log are dropped: ${(error as Error).message}.`);
      this.drops = true;
    }
  }
}
