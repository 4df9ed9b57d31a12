/** What a middleware may be added with: where it stands, by a step or beside another one. */
interface Options {
  readonly name?: string;
  readonly aliases?: readonly string[];
  readonly step?: Step;
  readonly priority?: Priority;
  readonly relation?: "before" | "after";
  readonly toMiddleware?: string;
  readonly override?: boolean;
}

type Step = "initialize" | "serialize" | "build" | "finalizeRequest" | "deserialize";
type Priority = "high" | "normal" | "low";
type Handler = (call: unknown) => Promise<unknown>;
type Middleware = (next: Handler, context: unknown) => Handler;

/** A middleware with its options; never changed, so copies of a stack share it. */
interface Entry extends Options {
  readonly middleware: Middleware;
}

interface Plugin {
  readonly applyToStack: (stack: Stack) => unknown;
}

/** A new stack without a middleware. */
export function constructStack(): Stack {
  return new Stack([], [], new Set());
}

/**
 * Takes the place of the stack of middlewares, which is copied four times for each command, each entry by itself with
 * its name checked again. A copy takes the lists as they are here, and what it adds is checked. Left out: removal of
 * middlewares and printing of their order, which nothing that is bundled asks for.
 */
class Stack {
  #absolute: readonly Entry[];
  #relative: readonly Entry[];
  readonly #names: Set<string>;

  constructor(absolute: readonly Entry[], relative: readonly Entry[], names: Set<string>) {
    this.#absolute = absolute;
    this.#relative = relative;
    this.#names = names;
  }

  /** Adds a middleware to a step. @throws Error for a name that is taken and must not be, or stands elsewhere */
  add(middleware: Middleware, options: Options = {}): void {
    this.#addAbsolute({ step: "initialize", priority: "normal", middleware, ...options });
  }

  /** Adds a middleware beside another one. @throws Error as for {@link add} */
  addRelativeTo(middleware: Middleware, options: Options): void {
    this.#addRelative({ middleware, ...options });
  }

  use(plugin: Plugin): void {
    plugin.applyToStack(this);
  }

  clone(): Stack {
    return new Stack(this.#absolute, this.#relative, new Set(this.#names));
  }

  concat(other: Plugin): Stack {
    const copy = this.clone();
    copy.use(other);
    return copy;
  }

  applyToStack(stack: Stack): Stack {
    for (const entry of this.#absolute) stack.#addAbsolute(entry);
    for (const entry of this.#relative) stack.#addRelative(entry);
    return stack;
  }

  /** The names in the order in which a call meets them. */
  identify(): string[] {
    return this.#ordered().ordered.map(({ name = "anonymous" }) => name);
  }

  /** The handler with every middleware around it. @throws Error for a place beside a middleware that is not there */
  resolve(handler: Handler, context: unknown): Handler {
    const { ordered, lost } = this.#ordered();
    if (lost !== undefined) throw new Error(`${lost} is not found, beside which a middleware shall stand.`);
    let outermost = handler;
    for (let place = ordered.length - 1; place >= 0; place -= 1) {
      outermost = ordered[place]?.middleware(outermost, context) ?? outermost;
    }
    return outermost;
  }

  #addAbsolute(entry: Entry): void {
    const rivals = this.#claim(entry) ? this.#absolute.filter((each) => shareName(each, entry)) : [];
    const elsewhere = rivals.find(({ step, priority }) => step !== entry.step || priority !== entry.priority);
    if (elsewhere !== undefined) throw misplaced(elsewhere, entry);
    this.#absolute = [...without(this.#absolute, rivals), entry];
  }

  #addRelative(entry: Entry): void {
    const rivals = this.#claim(entry) ? this.#relative.filter((each) => shareName(each, entry)) : [];
    const elsewhere = rivals.find(
      ({ toMiddleware, relation }) => toMiddleware !== entry.toMiddleware || relation !== entry.relation,
    );
    if (elsewhere !== undefined) throw misplaced(elsewhere, entry);
    this.#relative = [...without(this.#relative, rivals), entry];
  }

  /** Takes the names of an entry. True when one of them was taken before. @throws Error when that must not be */
  #claim(entry: Entry): boolean {
    let taken = false;
    for (const name of namesOf(entry)) {
      taken ||= this.#names.has(name);
      this.#names.add(name);
    }
    if (taken && !entry.override) throw new Error(`Duplicate middleware name '${entry.name}'`);
    return taken;
  }

  /** All in the order of a call, and the name beside which one should stand and that nothing has. */
  #ordered(): { readonly ordered: Entry[]; readonly lost: string | undefined } {
    const beside = new Map<string, Entry[]>();
    for (const entry of this.#relative) {
      const neighbours = beside.get(entry.toMiddleware ?? "");
      if (neighbours === undefined) beside.set(entry.toMiddleware ?? "", [entry]);
      else neighbours.push(entry);
    }
    const ordered: Entry[] = [];
    const place = (entry: Entry): void => {
      const neighbours: Entry[] = [];
      for (const name of beside.size === 0 ? [] : namesOf(entry)) {
        neighbours.push(...(beside.get(name) ?? []));
        beside.delete(name);
      }
      for (const each of neighbours) if (each.relation === "before") place(each);
      ordered.push(entry);
      for (const each of neighbours.reverse()) if (each.relation === "after") place(each);
    };
    for (const entry of this.#absolute.toSorted((one, other) => rankOf(other) - rankOf(one))) place(entry);
    const [lost] = beside.keys();
    return { ordered, lost };
  }
}

const steps: Readonly<Record<Step, number>> = {
  initialize: 5,
  serialize: 4,
  build: 3,
  finalizeRequest: 2,
  deserialize: 1,
};
const priorities: Readonly<Record<Priority, number>> = { high: 3, normal: 2, low: 1 };

/** Its place from the outermost, which has the highest. */
function rankOf({ step = "initialize", priority = "normal" }: Entry): number {
  return steps[step] * 4 + priorities[priority];
}

function namesOf({ name, aliases = [] }: Entry): readonly string[] {
  return name === undefined ? aliases : [name, ...aliases];
}

function shareName(one: Entry, other: Entry): boolean {
  const names = namesOf(other);
  return namesOf(one).some((name) => names.includes(name));
}

function without(list: readonly Entry[], left: readonly Entry[]): readonly Entry[] {
  return left.length === 0 ? list : list.filter((each) => !left.includes(each));
}

function misplaced(there: Entry, entry: Entry): Error {
  return new Error(`"${there.name}" cannot be overridden by "${entry.name}", which stands elsewhere.`);
}
