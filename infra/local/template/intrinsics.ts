/** A value as it stands in a template. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Whether a value is an object with members. */
export function isRecord(value: Json | undefined): value is { readonly [key: string]: Json };
/** The same for a value of any origin. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>>;
/** Lists and null are none. */
export function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Values of the names in a template. Each lookup gets the owner that an error should name, and throws itself. */
export interface Names {
  ref(name: string, owner: string): string;
  attribute(name: string, attribute: string, owner: string): string;
  /** Definition of a condition, undefined when there is none of that name. */
  condition(name: string): Json | undefined;
  /** Pseudo parameters such as `AWS::Region`. */
  readonly pseudo: Readonly<Record<string, string>>;
}

/** An intrinsic function that is not understood, or used wrongly. */
class IntrinsicError extends Error {
  constructor(owner: string, message: string) {
    super(`${owner}: ${message}`);
    this.name = "IntrinsicError";
  }
}

type Intrinsic = (resolver: Resolver, argument: Json, owner: string) => Json | undefined;

/** `Ref` of this name takes the property away. */
const noValue = "AWS::NoValue";

const intrinsics: Readonly<Record<string, Intrinsic>> = {
  Ref: (resolver, name, owner) => resolver.ref(String(name), owner),
  "Fn::GetAtt": (resolver, argument, owner) => {
    const [id, ...rest] = Array.isArray(argument) ? argument.map(String) : String(argument).split(".");
    return resolver.attribute(id ?? "", rest.join("."), owner);
  },
  "Fn::Join": (resolver, argument, owner) => {
    const [separator, parts] = pair(argument, "Fn::Join", owner);
    return resolver.list(parts, owner).join(resolver.text(separator, owner));
  },
  "Fn::Sub": (resolver, argument, owner) => resolver.substitute(argument, owner),
  "Fn::Select": (resolver, argument, owner) => {
    const [index, parts] = pair(argument, "Fn::Select", owner);
    const found = resolver.list(parts, owner)[Number(resolver.text(index, owner))];
    if (found === undefined) throw new IntrinsicError(owner, "Fn::Select asks for more than the list has");
    return found;
  },
  "Fn::Split": (resolver, argument, owner) => {
    const [separator, text] = pair(argument, "Fn::Split", owner);
    return resolver.text(text, owner).split(resolver.text(separator, owner));
  },
  "Fn::If": (resolver, argument, owner) => {
    const [name, whenTrue, whenFalse] = Array.isArray(argument) ? argument : [];
    if (whenTrue === undefined || whenFalse === undefined) throw new IntrinsicError(owner, "Fn::If takes three values");
    return resolver.value(resolver.condition(String(name), owner) ? whenTrue : whenFalse, owner);
  },
};

function pair(argument: Json, name: string, owner: string): [Json, Json] {
  const [first, second] = Array.isArray(argument) ? argument : [];
  if (first === undefined || second === undefined) throw new IntrinsicError(owner, `${name} takes two values`);
  return [first, second];
}

/**
 * Replaces intrinsic functions by what they mean; every other one than those above is refused with its owner's name.
 */
export class Resolver {
  private readonly names: Names;

  constructor(names: Names) {
    this.names = names;
  }

  /** A value with all intrinsic functions replaced; undefined for `AWS::NoValue`. */
  value(value: Json, owner: string): Json | undefined {
    if (Array.isArray(value)) {
      const items = value.map((item: Json) => this.value(item, owner));
      return items.filter((item): item is Json => item !== undefined);
    }
    if (!isRecord(value)) return value;
    const [entry, ...others] = Object.entries(value);
    if (entry !== undefined && others.length === 0 && (entry[0] === "Ref" || entry[0].startsWith("Fn::"))) {
      return this.call(entry[0], entry[1], owner);
    }
    const resolved = Object.entries(value).map(([key, member]) => [key, this.value(member, owner)] as const);
    return Object.fromEntries(resolved.filter((pair): pair is [string, Json] => pair[1] !== undefined));
  }

  /** A value that must come out as text; numbers and truth values are written out. */
  text(value: Json, owner: string): string {
    const resolved = this.value(value, owner);
    if (resolved === undefined || resolved === null || typeof resolved === "object") {
      throw new IntrinsicError(owner, `a text is wanted, not ${JSON.stringify(resolved)}`);
    }
    return String(resolved);
  }

  /** A value that must come out as a list of texts. */
  list(value: Json, owner: string): string[] {
    const resolved = this.value(value, owner);
    if (!Array.isArray(resolved)) throw new IntrinsicError(owner, "a list is wanted");
    return resolved.map((item: Json) => this.text(item, owner));
  }

  /** Physical id, parameter or pseudo parameter of that name. */
  ref(name: string, owner: string): string | undefined {
    if (name === noValue) return undefined;
    const pseudo = this.names.pseudo[name];
    if (pseudo === undefined && name.startsWith("AWS::")) throw new IntrinsicError(owner, `${name} is not known`);
    return pseudo ?? this.names.ref(name, owner);
  }

  /** Attribute of a resource. */
  attribute(name: string, attribute: string, owner: string): string {
    return this.names.attribute(name, attribute, owner);
  }

  /** Whether a named condition holds. */
  condition(name: string, owner: string): boolean {
    const definition = this.names.condition(name);
    if (definition === undefined) throw new IntrinsicError(owner, `the condition ${name} is not defined`);
    return this.test(definition, owner);
  }

  /** `${Name}`, `${Name.Attribute}` and `${!Literal}` in a text, with names of its own in the second member. */
  substitute(argument: Json, owner: string): string {
    const [text, own]: readonly Json[] = Array.isArray(argument) ? argument : [argument];
    if (typeof text !== "string") throw new IntrinsicError(owner, "Fn::Sub takes a text");
    return text.replace(/\$\{([^}]*)\}/g, (_, inner: string) => {
      if (inner.startsWith("!")) return `\${${inner.slice(1)}}`;
      const local = isRecord(own) ? own[inner] : undefined;
      if (local !== undefined) return this.text(local, owner);
      const [id = "", ...rest] = inner.split(".");
      return rest.length > 0 ? this.attribute(id, rest.join("."), owner) : this.text({ Ref: id }, owner);
    });
  }

  private call(name: string, argument: Json, owner: string): Json | undefined {
    const intrinsic = intrinsics[name];
    if (intrinsic === undefined) throw new IntrinsicError(owner, `the local runner does not understand ${name}`);
    return intrinsic(this, argument, owner);
  }

  private test(definition: Json, owner: string): boolean {
    const [[name, argument] = ["", null], ...others] = isRecord(definition) ? Object.entries(definition) : [];
    const parts = Array.isArray(argument) ? argument : [];
    if (others.length > 0) throw new IntrinsicError(owner, "a condition has one member");
    if (name === "Condition") return this.condition(String(argument), owner);
    if (name === "Fn::Equals") return new Set(parts.map((part: Json) => this.text(part, owner))).size === 1;
    if (name === "Fn::And") return parts.every((part: Json) => this.test(part, owner));
    if (name === "Fn::Or") return parts.some((part: Json) => this.test(part, owner));
    if (name === "Fn::Not") return !parts.every((part: Json) => this.test(part, owner));
    throw new IntrinsicError(owner, `the local runner does not understand ${name} in a condition`);
  }
}
