import { isRecord } from "../template/intrinsics.ts";

/** A filter pattern that this runner would decide wrongly. */
class PatternError extends Error {}

type Matcher = (value: unknown, present: boolean) => boolean;

/** Decides whether an event matches. */
export type Pattern = (event: unknown) => boolean;

/**
 * Compiles a filter pattern of Lambda (AWS docs: event filtering): nested objects with lists of alternatives at their
 * ends, which are scalars, `prefix`, `suffix`, `exists` or `anything-but` with scalars. Throws a PatternError for the
 * rest.
 */
export function eventPattern(text: string): Pattern {
  const parsed: unknown = JSON.parse(text);
  if (!isRecord(parsed)) throw new PatternError(`The filter pattern ${text} is no object.`);
  return compileObject(parsed);
}

function compileObject(pattern: Readonly<Record<string, unknown>>): Pattern {
  const members = Object.entries(pattern).map(([name, part]) => {
    if (Array.isArray(part)) {
      const matchers = part.map(compileAlternative);
      return (event: Readonly<Record<string, unknown>>) =>
        matchers.some((matches) => matches(event[name], name in event));
    }
    if (!isRecord(part) || name.startsWith("$")) {
      throw new PatternError(`The filter pattern member ${name} is not known to the local runner.`);
    }
    const nested = compileObject(part);
    return (event: Readonly<Record<string, unknown>>) => nested(event[name] ?? {});
  });
  return (event) => isRecord(event) && members.every((matches) => matches(event));
}

function compileAlternative(alternative: unknown): Matcher {
  if (!isRecord(alternative)) return (value) => value === alternative;
  const [[name, argument] = ["", undefined], ...others] = Object.entries(alternative);
  if (others.length === 0) {
    if (name === "prefix" && typeof argument === "string") {
      return (value) => typeof value === "string" && value.startsWith(argument);
    }
    if (name === "suffix" && typeof argument === "string") {
      return (value) => typeof value === "string" && value.endsWith(argument);
    }
    if (name === "exists" && typeof argument === "boolean") return (_, present) => present === argument;
    if (name === "anything-but") {
      const values: unknown[] = Array.isArray(argument) ? argument : [argument];
      if (!values.some(isRecord)) return (value, present) => present && !values.includes(value);
    }
  }
  throw new PatternError(`The filter ${JSON.stringify(alternative)} is not known to the local runner.`);
}
