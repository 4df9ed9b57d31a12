import type { $ZodIssue, $ZodType } from "zod/v4/core";
import { safeParse } from "zod/v4/core";
import { type FieldError, failedFields } from "../domain/kernel/decision.ts";
import { limits } from "../limits.ts";
import { clipped } from "../text.ts";
import { HttpProblem, type ProblemEntry } from "./problem.ts";
import { escapePointer } from "./strict-json.ts";

/** Issues include their input, to distinguish a wrong type from a missing value. */
const withInput = { reportInput: true } as const;

/**
 * Checks a body against the schema of its row and reports every fault at once.
 * @returns the parsed value
 * @throws HttpProblem `validation_failed`, or `immutable_field` if every fault is one
 */
export function validBody(schema: $ZodType, body: unknown, immutable: ReadonlySet<string>): unknown {
  const result = safeParse(schema, body, withInput);
  if (result.success) return result.data;
  const errors = result.error.issues.flatMap((issue) => bodyErrors(issue, immutable));
  const code = errors.every((error) => error.code === "immutable_field") ? "immutable_field" : "validation_failed";
  throw new HttpProblem(code, failedFields(errors.length), { errors: errors.slice(0, limits.body.max_errors) });
}

/** A value that conforms to its schema, or its faults with JSON Pointers. */
export type CheckedValue =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/** Checks a part of a body; the pointers of its faults start with `pointer`. */
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

/**
 * Checks the query of a request against the schema of its row. Unknown parameters are refused: a typo in a filter must
 * not return everything.
 * @throws HttpProblem `unknown_parameter`, `invalid_parameter`
 */
export function validQuery(
  schema: $ZodType | undefined,
  query: Readonly<Record<string, readonly string[] | undefined>> | null,
): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, values] of Object.entries(query ?? {})) {
    // Assigned as a member, this name would vanish and the unknown parameter would be ignored.
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
    case "invalid_union":
      return unmatched(issue);
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

/** The fault of a member that selects one of several shapes of an object. */
function unmatched(issue: Extract<$ZodIssue, { code: "invalid_union" }>): { code: string; detail: string } {
  const { discriminator, input } = issue;
  if (discriminator === undefined || !("options" in issue)) return { code: "invalid_format", detail: "is not valid" };
  const given = (input as Readonly<Record<string, unknown>>)[discriminator];
  if (given === undefined) return { code: "required", detail: "is required" };
  return { code: "invalid_value", detail: `must be one of ${(issue.options ?? []).map(String).join(", ")}` };
}

/** The message of a rule of our schemas, which starts with "must"; messages of the library are not shown. */
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
