import { type FileHandle, open, rename } from "node:fs/promises";
import { dirname } from "node:path";

/** Records of a log, as JSON. */
export type LogRecord = Readonly<Record<string, unknown>>;

/** Records that are written together. */
class Group {
  resolve: () => void = () => undefined;
  reject: (error: unknown) => void = () => undefined;
  readonly written = new Promise<void>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });

  constructor() {
    // Each record has a waiter of its own; without one a failed write must not end the process by itself.
    this.written.catch(() => undefined);
  }
}

/**
 * A file of records, one JSON text a line, each of which is on the disk before it is reported as written (fdatasync).
 * Records that arrive during a write are written together by the next one. A last line that a crash cut off is removed
 * when the file is opened: its record was never reported as written.
 */
export class DurableLog {
  /** Bytes of the file. */
  bytes: number;
  private readonly path: string;
  private handle: FileHandle;
  private buffer: string[] = [];
  private group = new Group();
  private replacement: (() => readonly LogRecord[]) | undefined;
  private writing = false;
  private failure: unknown;

  private constructor(path: string, handle: FileHandle, bytes: number) {
    this.path = path;
    this.handle = handle;
    this.bytes = bytes;
  }

  /**
   * Opens the log, or makes it.
   * @throws Error when a line other than the last is not a record
   */
  static async open(path: string): Promise<{ log: DurableLog; records: LogRecord[] }> {
    const handle = await open(path, "a+", 0o600);
    const text = await handle.readFile("utf8");
    const end = text.lastIndexOf("\n") + 1;
    const records = text
      .slice(0, end)
      .split("\n")
      .slice(0, -1)
      .map((line, index) => parsed(line, `${path}, line ${index + 1}`));
    const bytes = Buffer.byteLength(text.slice(0, end));
    if (end < text.length) await handle.truncate(bytes);
    await handle.datasync();
    await syncFolder(path);
    return { log: new DurableLog(path, handle, bytes), records };
  }

  /** Adds a record; resolves when it is on the disk. */
  append(record: LogRecord): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    this.buffer.push(`${JSON.stringify(record)}\n`);
    const { written } = this.group;
    this.start();
    return written;
  }

  /** Resolves when everything that was added so far is on the disk. */
  flushed(): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return this.buffer.length === 0 && !this.writing ? Promise.resolve() : this.group.written;
  }

  /**
   * Replaces the whole file by the records that `state` returns, which stand for everything added before. A crash
   * leaves the old file or the new one.
   */
  replace(state: () => readonly LogRecord[]): Promise<void> {
    this.replacement = state;
    const { written } = this.group;
    this.start();
    return written;
  }

  /** Writes what is left and closes the file. */
  async close(): Promise<void> {
    await this.flushed().catch(() => undefined);
    await this.handle.close();
  }

  private start(): void {
    if (!this.writing) void this.drain();
  }

  private async drain(): Promise<void> {
    this.writing = true;
    // Records that are added within the same turn are written at once.
    await Promise.resolve();
    while (this.buffer.length > 0 || this.replacement !== undefined) {
      const { group, replacement } = this;
      const records = replacement?.();
      const text = records?.map((record) => `${JSON.stringify(record)}\n`).join("") ?? this.buffer.join("");
      this.buffer = [];
      this.replacement = undefined;
      this.group = new Group();
      try {
        if (replacement === undefined) await this.write(text);
        else await this.rewrite(text);
      } catch (error) {
        this.failure = error;
        group.reject(error);
        this.group.reject(error);
        break;
      }
      group.resolve();
    }
    this.writing = false;
  }

  private async write(text: string): Promise<void> {
    await this.handle.appendFile(text);
    await this.handle.datasync();
    this.bytes += Buffer.byteLength(text);
  }

  private async rewrite(text: string): Promise<void> {
    const next = await open(`${this.path}.new`, "w", 0o600);
    await next.writeFile(text);
    await next.datasync();
    await next.close();
    await rename(`${this.path}.new`, this.path);
    await syncFolder(this.path);
    await this.handle.close();
    this.handle = await open(this.path, "a", 0o600);
    this.bytes = Buffer.byteLength(text);
  }
}

function parsed(line: string, place: string): LogRecord {
  try {
    return JSON.parse(line) as LogRecord;
  } catch {
    throw new Error(`${place} is no record: the file was changed, or the disk is at fault.`);
  }
}

/** Makes the name of a file durable. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), "r");
  await folder.sync();
  await folder.close();
}
