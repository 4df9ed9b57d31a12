import type { $ZodIssue, $ZodType } from "zod/v4/core";
import { safeParse } from "zod/v4/core";
import { type FieldError, failedFields } from "../domain/decision.ts";
import { limits } from "../limits.ts";
import { clipped } from "../text.ts";
import { HttpProblem, type ProblemEntry } from "./problem.ts";
import { escapePointer } from "./strict-json.ts";

/** Issues keep what they are about: without it a wrong type cannot be told from a missing value. */
const withInput = { reportInput: true } as const;

/**
 * A value checked against the schema of its row; every fault is reported at once.
 * @throws HttpProblem `validation_failed`, or `immutable_field` when that is all that is wrong
 */
export function validBody(schema: $ZodType, body: unknown, immutable: ReadonlySet<string>): unknown {
  const result = safeParse(schema, body, withInput);
  if (result.success) return result.data;
  const errors = result.error.issues.flatMap((issue) => bodyErrors(issue, immutable));
  const code = errors.every((error) => error.code === "immutable_field") ? "immutable_field" : "validation_failed";
  throw new HttpProblem(code, failedFields(errors.length), { errors: errors.slice(0, limits.body.max_errors) });
}

/** A value that is what its schema asks for, or everything that is wrong with it, each fault below `pointer`. */
export type CheckedValue =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/** Checks a part of a body by itself. */
export function checkedValue(schema: $ZodType, value: unknown, pointer: string): CheckedValue {
  const result = safeParse(schema, value, withInput);
  if (result.success) return { ok: true, value: result.data };
  const errors = result.error.issues.flatMap((issue) => bodyErrors(issue, new Set(), pointer));
  return { ok: false, errors: errors.slice(0, limits.body.max_errors) };
}

function bodyErrors(issue: $ZodIssue, immutable: ReadonlySet<string>, root = "#"): FieldError[] {
  const base = `${root}${issue.path.map((part) => `/${escapePointer(String(part))}`).join("")}`;
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const pointer = `${base}/${escapePointer(key)}`;
      return issue.path.length === 0 && immutable.has(key)
        ? { pointer, code: "immutable_field", detail: "cannot be changed" }
        : { pointer, code: "unknown_field", detail: "is not known" };
    });
  }
  return [{ pointer: base, ...explain(issue) }];
}

/** The query of a request checked against the schema of its row. A typo must not silently return everything. */
export function validQuery(
  schema: $ZodType | undefined,
  query: Readonly<Record<string, readonly string[] | undefined>> | null,
): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, values] of Object.entries(query ?? {})) {
    // Set as a member it would vanish, and what is not known would be passed over.
    if (name === "__proto__") throw unknownParameters([name]);
    if ((values?.length ?? 0) > 1) throw badParameters([parameterError(name, "repeated", "is given more than once")]);
    given[name] = values?.[0] ?? "";
  }
  if (schema === undefined) {
    const names = Object.keys(given);
    if (names.length > 0) throw unknownParameters(names);
    return {};
  }
  const result = safeParse(schema, given, withInput);
  if (result.success) return result.data as Record<string, string>;
  const unknown = result.error.issues.flatMap((issue) => (issue.code === "unrecognized_keys" ? issue.keys : []));
  if (unknown.length > 0) throw unknownParameters(unknown);
  throw badParameters(
    result.error.issues.map((issue) => {
      const { code, detail } = explain(issue);
      return parameterError(String(issue.path[0] ?? ""), code, detail);
    }),
  );
}

function parameterError(parameter: string, code: string, detail: string): ProblemEntry {
  return { parameter: clipped(parameter, 100), code, detail };
}

function badParameters(errors: readonly ProblemEntry[]): HttpProblem {
  return new HttpProblem("invalid_parameter", "A query parameter is not valid.", { errors });
}

function unknownParameters(names: readonly string[]): HttpProblem {
  const errors = names.slice(0, 20).map((name) => parameterError(name, "unknown_parameter", "is not known"));
  return new HttpProblem("unknown_parameter", "A query parameter is not known.", { errors });
}

function explain(issue: $ZodIssue): { code: string; detail: string } {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined
        ? { code: "required", detail: "is required" }
        : { code: "invalid_type", detail: `must be ${withArticle(issue.expected)}` };
    case "invalid_value":
      return { code: "invalid_value", detail: `must be one of ${issue.values.map(String).join(", ")}` };
    case "too_small":
      return { code: "too_small", detail: `must ${sized(issue.origin, "at least", Number(issue.minimum))}` };
    case "too_big":
      return { code: "too_big", detail: `must ${sized(issue.origin, "at most", Number(issue.maximum))}` };
    case "invalid_key":
      return { code: "invalid_key", detail: `has a name that ${ruleText(issue.issues[0]?.message)}` };
    case "custom":
      return { code: String(issue.params?.["code"] ?? "invalid_format"), detail: ruleText(issue.message) };
    default:
      return { code: "invalid_format", detail: ruleText(issue.message) };
  }
}

/** Each rule of a schema says what it asks for; what the library says where none does is for nobody. */
function ruleText(message = ""): string {
  return message.startsWith("must ") ? message : "is not valid";
}

function withArticle(type: string): string {
  const names: Record<string, string> = {
    int: "a whole number",
    object: "an object",
    array: "a list",
    record: "an object",
  };
  return names[type] ?? `a ${type}`;
}

function sized(origin: string, bound: string, size: number): string {
  if (origin === "string") return `have ${bound} ${size} characters`;
  if (origin === "array") return `have ${bound} ${size} entries`;
  return `be ${bound} ${size}`;
}
