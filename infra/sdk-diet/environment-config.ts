/**
 * Takes the place of `@smithy/core/config`: settings come from the environment and the client's own arguments. The
 * shared files in a home directory and the metadata of an EC2 instance do not exist where functions run.
 */

/** How one setting is found. */
interface Selectors<T> {
  readonly environmentVariableSelector: (env: NodeJS.ProcessEnv, options?: object) => T | undefined;
  readonly default?: T | (() => T | Promise<T>);
}

/** An error of a provider; `tryNextLink` tells a chain of them to go on. */
export class ProviderError extends Error {
  override name = "ProviderError";
  readonly tryNextLink: boolean;

  constructor(message: string, options: boolean | { readonly tryNextLink?: boolean } = true) {
    super(message);
    this.tryNextLink = typeof options === "boolean" ? options : (options.tryNextLink ?? true);
  }
}

/** No credentials could be had. */
export class CredentialsProviderError extends ProviderError {
  override name = "CredentialsProviderError";
}

/** A value that is asked for once; after a failure it is asked for again. */
export function memoize<T>(provider: () => Promise<T>): () => Promise<T> {
  let value: Promise<T> | undefined;
  return () => {
    value ??= provider().catch((error: unknown) => {
      value = undefined;
      throw error;
    });
    return value;
  };
}

/** A setting from the environment, else its default. What the environment holds in a wrong form counts as not there. */
export function loadConfig<T>(selectors: Selectors<T>, options: object = {}): () => Promise<T | undefined> {
  return memoize(async () => {
    const { environmentVariableSelector: select, default: otherwise } = selectors;
    const found = fromEnvironment(() => select(process.env, options));
    if (found !== undefined) return found;
    return typeof otherwise === "function" ? (otherwise as () => T | Promise<T>)() : otherwise;
  });
}

function fromEnvironment<T>(select: () => T | undefined): T | undefined {
  try {
    return select();
  } catch {
    return undefined;
  }
}

/** Where a value was read, in the words of an error. */
export const SelectorType = { ENV: "env", CONFIG: "shared config entry" } as const;

/**
 * A switch of the environment.
 * @throws Error when it is neither `true` nor `false`
 */
export function booleanSelector(from: NodeJS.ProcessEnv, key: string, type: string): boolean | undefined {
  if (!(key in from)) return undefined;
  if (from[key] === "true") return true;
  if (from[key] === "false") return false;
  throw new Error(`Cannot load ${type} "${key}". Expected "true" or "false", got ${from[key]}.`);
}

/** Between the names of a section and of a sub-section in a shared file, of which there is none. */
export const CONFIG_PREFIX_SEPARATOR = ".";

/** Where Lambda sets the region. */
export const REGION_ENV_NAME = "AWS_REGION";

/** What a shared file would call it. */
export const REGION_INI_NAME = "region";

/** The region that Lambda sets. */
export const NODE_REGION_CONFIG_OPTIONS = {
  environmentVariableSelector: (env: NodeJS.ProcessEnv) => env[REGION_ENV_NAME],
  default: (): string => {
    throw new Error("Region is missing");
  },
};

/** Which shared file would be preferred. */
export const NODE_REGION_CONFIG_FILE_OPTIONS = {};

/** Endpoints that also answer on IPv6 are asked for by a switch. */
export const DEFAULT_USE_DUALSTACK_ENDPOINT = false;

/** So are endpoints with validated cryptography. */
export const DEFAULT_USE_FIPS_ENDPOINT = false;

function endpointSwitch(name: string): Selectors<boolean> {
  return { environmentVariableSelector: (env) => booleanSelector(env, name, SelectorType.ENV), default: false };
}

/** The switch for IPv6. */
export const NODE_USE_DUALSTACK_ENDPOINT_CONFIG_OPTIONS = endpointSwitch("AWS_USE_DUALSTACK_ENDPOINT");

/** The switch for validated cryptography. */
export const NODE_USE_FIPS_ENDPOINT_CONFIG_OPTIONS = endpointSwitch("AWS_USE_FIPS_ENDPOINT");

interface DefaultsMode {
  readonly region?: string | (() => Promise<string>);
  readonly defaultsMode?: string | (() => Promise<string>);
}

const modes = ["in-region", "cross-region", "mobile", "standard", "legacy"];

/** Which set of timeouts and retries a client starts with (AWS SDKs reference, smart configuration defaults). */
export function resolveDefaultsModeConfig({ region, defaultsMode }: DefaultsMode = {}): () => Promise<string> {
  return memoize(async () => {
    const given = (await resolved(defaultsMode)) ?? process.env["AWS_DEFAULTS_MODE"] ?? "legacy";
    const mode = given.toLowerCase();
    if (modes.includes(mode)) return mode;
    if (mode !== "auto") {
      throw new Error(`Invalid parameter for "defaultsMode", expect ${modes.join(", ")}, got ${given}`);
    }
    const here = process.env["AWS_REGION"] ?? process.env["AWS_DEFAULT_REGION"];
    if (process.env["AWS_EXECUTION_ENV"] === undefined || here === undefined) return "standard";
    return ((await resolved(region)) ?? here) === here ? "in-region" : "cross-region";
  });
}

async function resolved<T>(given: T | (() => Promise<T>) | undefined): Promise<T | undefined> {
  return typeof given === "function" ? (given as () => Promise<T>)() : given;
}

interface RegionConfig {
  readonly region?: string | (() => Promise<string>);
  readonly useFipsEndpoint?: boolean | (() => Promise<boolean>);
}

/**
 * The client's settings with the region checked: it becomes part of a host name.
 * @throws Error when there is none
 */
export function resolveRegionConfig<T extends RegionConfig>(input: T) {
  const { region, useFipsEndpoint } = input;
  if (!region) throw new Error("Region is missing");
  return Object.assign(input, {
    region: async () => {
      const given = typeof region === "function" ? await region() : region;
      if (!/^(?!-)[a-z0-9-]{1,63}(?<!-)$/i.test(given)) {
        throw new Error(`Region not accepted: region="${given}" is not a valid hostname component.`);
      }
      return given;
    },
    useFipsEndpoint: async () => (await resolved(useFipsEndpoint)) ?? false,
  });
}
