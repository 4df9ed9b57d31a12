import { isPolicyRefusal } from "../../../shared/schema/audit/policy-refusals.ts";
import type { TestAnswer } from "../../support/emulator/api.ts";
import type { RawAudit } from "../../support/oracles/audit-oracle.ts";
import type { Intent } from "../model-books.ts";

/** A command of a program, with what the audit must have of it. */
export interface AskedCommand {
  readonly request_id: string;
  readonly tenant_id: string;
  readonly does: Intent["do"];
  readonly status: number;
  /** Why it was refused. */
  readonly code: string | undefined;
  /** Version of the resource that it answered with. */
  readonly version: number | undefined;
  readonly replayed: boolean;
}

/** The command of a request, by its answer. */
export function askedBy(does: Intent["do"], tenant_id: string, { status, headers, body }: TestAnswer): AskedCommand {
  const replayed = headers["Idempotent-Replayed"] === "true";
  const request_id = String(headers["X-Request-Id"]);
  return { request_id, tenant_id, does, status, code: body.code, version: body.version, replayed };
}

/** Records of requests at the end of a program, by their identifiers. */
export interface Kept {
  readonly entries: readonly RawAudit[];
  /** Requests that the events were caused by. */
  readonly caused: ReadonlySet<string>;
  /** Requests of the refusals that were reported, each as often as it was. */
  readonly refused: readonly string[];
}

/**
 * Missing and surplus entries of the audit: each command that changed something has exactly one entry, which its events
 * tell, or the version of the settings, which have none. One that is refused by policy is reported once. One that
 * changed nothing, failed, or was answered from what is stored has neither.
 */
export function auditFaults(asked: readonly AskedCommand[], { entries, caused, refused }: Kept): string[] {
  const found = countsOf(entries.map(({ members }) => String(members["request_id"])));
  const reported = countsOf(refused);
  const changed = new Set<string>();
  const faults: string[] = [];
  for (const one of asked) {
    const { request_id, does, status, code, replayed } = one;
    const fresh = !replayed && status < 300;
    const wanted = does === "settings" ? Number(found.has(request_id)) : Number(caused.has(request_id));
    const has = found.get(request_id) ?? 0;
    if (has !== (fresh ? wanted : 0)) faults.push(`${does} (${status}, ${request_id}) has ${has} entries of the audit`);
    const refusals = reported.get(request_id) ?? 0;
    const isReported = !replayed && isPolicyRefusal(code ?? "");
    if (refusals !== Number(isReported)) faults.push(`${does} (${code}, ${request_id}) was reported ${refusals} times`);
    if (fresh && has > 0 && does === "settings") changed.add(`${one.tenant_id} ${one.version}`);
  }
  return [...faults, ...settingsFaults(asked, changed)];
}

/** Each version of the settings after the first was written by one command, which has the entry. */
function settingsFaults(asked: readonly AskedCommand[], changed: ReadonlySet<string>): string[] {
  const shown = asked.filter(({ does, status, replayed }) => does === "settings" && status < 300 && !replayed);
  const versions = new Set(
    shown.filter(({ version = 1 }) => version > 1).map((one) => `${one.tenant_id} ${one.version}`),
  );
  return [...versions].filter((each) => !changed.has(each)).map((each) => `the settings ${each} have no entry`);
}

function countsOf(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
