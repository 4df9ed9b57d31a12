import { type ParseArgsConfig, parseArgs } from "node:util";

/** Wrong arguments, or a state that the user has to change first; printed as its sentence, without a stack. */
export class UsageError extends Error {}

/** The options of a command by their names, as `parseArgs` takes them. */
type Options = NonNullable<ParseArgsConfig["options"]>;

type Arguments<T extends Options> = ReturnType<typeof parseArgs<{ options: T; allowPositionals: true }>>;

/**
 * Reads the words behind a command. `positionals` is how many of them may be words without hyphens.
 * @throws UsageError one sentence that names the argument at fault
 */
export function readArguments<const T extends Options>(
  options: T,
  { words = process.argv.slice(2), positionals = 0 }: { words?: readonly string[]; positionals?: number } = {},
): Arguments<T> {
  const { tokens } = parseArgs({ args: [...words], options, strict: false, tokens: true });
  let left = positionals;
  for (const token of tokens) {
    if (token.kind === "positional") {
      if (left === 0) throw new UsageError(`The argument "${token.value}" is not known; --help lists the arguments.`);
      left -= 1;
    }
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    const type = Object.hasOwn(options, name) ? options[name]?.type : undefined;
    if (type === undefined) throw new UsageError(`The option ${rawName} is not known; --help lists the options.`);
    if (type === "boolean" && value !== undefined) throw new UsageError(`The option ${rawName} takes no value.`);
    const absent = value === undefined || value === "" || (!inlineValue && value.startsWith("-"));
    if (type === "string" && absent) throw new UsageError(`The option ${rawName} needs a value.`);
  }
  return parseArgs({ args: [...words], options, allowPositionals: true });
}

/**
 * The value of an option that is a whole number.
 * @throws UsageError when it is not, or is out of the range
 */
export function wholeNumber(option: string, text: string, least: number, most = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new UsageError(`--${option} must be a whole number ${range}.`);
}

/**
 * The value of an option that is one of a list.
 * @throws UsageError when it is not
 */
export function oneOf<T extends string>(option: string, value: string, all: readonly T[]): T {
  const found = all.find((each) => each === value);
  if (found !== undefined) return found;
  throw new UsageError(`--${option} must be ${all.join(" or ")}, not "${value}".`);
}

/** Prints the text when it is asked for with --help, which is then the only thing to do. */
export function helpAsked(help: string, words: readonly string[] = process.argv.slice(2)): boolean {
  const asked = words.includes("--help");
  if (asked) process.stdout.write(`${help}\n`);
  return asked;
}

/** Runs a command; a UsageError is printed as its sentence and ends the process with 1, as every other error does. */
export async function runCommand(main: () => unknown): Promise<void> {
  // The SDK announces which Node it will want one day; that is no matter of a command.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
  try {
    await main();
  } catch (error) {
    process.stderr.write(`${error instanceof UsageError ? error.message : inFull(error)}\n`);
    process.exitCode = 1;
  }
}

function inFull(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
