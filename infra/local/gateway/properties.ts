/** A resource of the synthesized template; intrinsic functions in `properties` are already resolved. */
export interface Resource {
  /** Where it stands: nested stacks and the logical id. Every error names it. */
  readonly path: string;
  /** Type in CloudFormation's words, `AWS::ApiGateway::Method`. */
  readonly type: string;
  /** Value of `Ref` of the resource. */
  readonly physical_id: string;
  readonly properties: Record<string, unknown>;
}

/** The template asks for something that the gateway cannot do, or does not fit together. Names the resource. */
export class ModelError extends Error {
  constructor(owner: string, message: string) {
    super(`${owner}: ${message}`);
    this.name = "ModelError";
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && Object.keys(value).length === 0;
}

/**
 * Typed reading of the properties of a resource. Every reader that gets an unexpected type throws a ModelError, so a
 * template is either understood or refused.
 */
export class Properties {
  private readonly owner: string;
  private readonly where: string;
  private readonly values: Record<string, unknown>;

  constructor(owner: string, values: unknown, where = "") {
    this.owner = owner;
    this.where = where;
    if (!isRecord(values)) throw new ModelError(owner, `${where === "" ? "properties" : where} must be an object`);
    this.values = values;
  }

  /** The properties of a resource. */
  static of(resource: Resource): Properties {
    return new Properties(resource.path, resource.properties);
  }

  /** An error that names the resource and the place in it. */
  error(name: string, message: string): ModelError {
    return new ModelError(this.owner, `${this.where}${name} ${message}`);
  }

  /**
   * Refuses every property that is not listed: `implemented` ones are read, `ignored` ones change no answer, and
   * `harmless` ones are allowed with that one value only. An empty list or object says nothing and is let through.
   */
  only(lists: {
    implemented: readonly string[];
    ignored?: readonly string[];
    harmless?: Record<string, unknown>;
  }): this {
    const known = new Set([...lists.implemented, ...(lists.ignored ?? [])]);
    for (const [name, value] of Object.entries(this.values)) {
      if (known.has(name) || isEmpty(value)) continue;
      if (lists.harmless !== undefined && name in lists.harmless && lists.harmless[name] === value) continue;
      throw this.error(name, `(${JSON.stringify(value)}) is not implemented by the local runner`);
    }
    return this;
  }

  /** A text, or undefined when the property is absent. */
  optionalText(name: string): string | undefined {
    const value = this.values[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== "string") throw this.error(name, "must be a text");
    return value;
  }

  /** A text that must be there. */
  text(name: string): string {
    const value = this.optionalText(name);
    if (value === undefined) throw this.error(name, "is missing");
    return value;
  }

  /** A text out of a list, or the default when absent. */
  choice<const T extends string>(name: string, choices: readonly T[], otherwise?: T): T {
    const value = this.optionalText(name) ?? otherwise;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) {
      throw this.error(name, `(${String(value)}) is not implemented by the local runner, only ${choices.join(", ")}`);
    }
    return found;
  }

  /** A number, or undefined when absent. Templates may carry numbers as text. */
  optionalNumber(name: string): number | undefined {
    const value = this.values[name];
    if (value === undefined || value === null) return undefined;
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof number !== "number" || !Number.isFinite(number)) throw this.error(name, "must be a number");
    return number;
  }

  /** A number that must be there. */
  number(name: string): number {
    const value = this.optionalNumber(name);
    if (value === undefined) throw this.error(name, "is missing");
    return value;
  }

  /** A truth value; absent is false. Templates may carry it as text. */
  flag(name: string): boolean {
    const value = this.values[name];
    if (value === undefined || value === null || value === false || value === "false") return false;
    if (value === true || value === "true") return true;
    throw this.error(name, "must be true or false");
  }

  /** A list of texts; absent is empty. */
  texts(name: string): string[] {
    return this.list(name).map((value) => {
      if (typeof value !== "string") throw this.error(name, "must hold texts only");
      return value;
    });
  }

  /** A list of objects; absent is empty. */
  items(name: string): Properties[] {
    return this.list(name).map((value, index) => {
      return new Properties(this.owner, value, `${this.where}${name}[${index}].`);
    });
  }

  /** An object as properties of its own; undefined when absent. */
  optionalNested(name: string): Properties | undefined {
    const value = this.values[name];
    if (value === undefined || value === null) return undefined;
    return new Properties(this.owner, value, `${this.where}${name}.`);
  }

  /** An object of texts in its own order; absent is empty. */
  textMap(name: string): [key: string, value: string][] {
    const nested = this.optionalNested(name);
    return nested === undefined ? [] : Object.keys(nested.values).map((key) => [key, nested.text(key)]);
  }

  /** The names in an object of truth values, whatever the values; absent is empty. */
  flagNames(name: string): string[] {
    const nested = this.optionalNested(name);
    if (nested === undefined) return [];
    for (const key of Object.keys(nested.values)) nested.flag(key);
    return Object.keys(nested.values);
  }

  /** An object of objects; absent is empty. */
  nestedMap(name: string): [key: string, value: Properties][] {
    const value = this.values[name];
    if (value === undefined || value === null) return [];
    if (!isRecord(value)) throw this.error(name, "must be an object");
    return Object.entries(value).map(([key, entry]) => {
      return [key, new Properties(this.owner, entry, `${this.where}${name}.${key}.`)];
    });
  }

  private list(name: string): unknown[] {
    const value = this.values[name];
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw this.error(name, "must be a list");
    return value;
  }
}
