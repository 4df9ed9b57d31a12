/** A value of an expression at one time; undefined where there is no data point. */
type Value = number | undefined | readonly Value[];

const token = /\s*(\d+(?:\.\d+)?|[A-Za-z_]\w*|[-+*/>,()[\]])/y;

/** Expressions that were read already: each is calculated in every period. */
const readBefore = new Map<string, readonly string[]>();

function tokensOf(expression: string): readonly string[] {
  const tokens = readBefore.get(expression) ?? read(expression);
  readBefore.set(expression, tokens);
  return tokens;
}

function read(expression: string): readonly string[] {
  const tokens: string[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < expression.trimEnd().length) {
    const found = token.exec(expression)?.[1];
    if (found === undefined) throw new Error(`"${expression}" is not understood.`);
    tokens.push(found);
  }
  return tokens;
}

function scalar(value: Value | undefined): number | undefined {
  if (Array.isArray(value)) throw new Error("A list stands where a number belongs.");
  return value as number | undefined;
}

function numbers(value: Value): number[] {
  return (Array.isArray(value) ? value : [value]).filter((each): each is number => typeof each === "number");
}

/** The functions that the alarms use (AWS docs: CloudWatch, using metric math). */
const functions: Readonly<Record<string, (...given: Value[]) => Value>> = {
  FILL: (metric, filling) => metric ?? filling,
  IF: (condition, yes, no) => (scalar(condition) === undefined ? undefined : scalar(condition) ? yes : no),
  MAX: (list) => {
    const known = numbers(list);
    return known.length === 0 ? undefined : Math.max(...known);
  },
};

const operators: Readonly<Record<string, (one: number, other: number) => number>> = {
  "+": (one, other) => one + other,
  "-": (one, other) => one - other,
  "*": (one, other) => one * other,
  "/": (one, other) => one / other,
  ">": (one, other) => Number(one > other),
};

/** Operators that bind alike, the loosest first. */
const levels = [[">"], ["+", "-"], ["*", "/"]] as const;

/** Reads an expression from the left; it has no state but the place that it has come to. */
class Reader {
  private place = 0;
  private readonly tokens: readonly string[];
  private readonly metrics: Readonly<Record<string, number | undefined>>;

  constructor(expression: string, metrics: Readonly<Record<string, number | undefined>>) {
    this.tokens = tokensOf(expression);
    this.metrics = metrics;
  }

  whole(): Value {
    const value = this.level(0);
    if (this.place !== this.tokens.length) throw new Error(`"${this.tokens[this.place]}" is one too many.`);
    return value;
  }

  private level(depth: number): Value {
    const known: readonly string[] | undefined = levels[depth];
    if (known === undefined) return this.operand();
    let value = this.level(depth + 1);
    while (known.includes(this.tokens[this.place] ?? "")) {
      const operator = operators[this.next()];
      const [one, other] = [scalar(value), scalar(this.level(depth + 1))];
      value = operator === undefined || one === undefined || other === undefined ? undefined : operator(one, other);
    }
    return value;
  }

  private operand(): Value {
    const word = this.next();
    if (/^\d/.test(word)) return Number(word);
    if (word === "[") return this.list("]");
    if (word === "(") {
      const [value, ...more] = this.list(")");
      if (more.length > 0) throw new Error("A list stands where a number belongs.");
      return value;
    }
    if (this.tokens[this.place] === "(") return this.call(word);
    if (!Object.hasOwn(this.metrics, word)) throw new Error(`There is no metric ${word}.`);
    return this.metrics[word];
  }

  private call(name: string): Value {
    const called = functions[name];
    if (called === undefined) throw new Error(`The function ${name} is not known here.`);
    this.next();
    return called(...this.list(")"));
  }

  private list(end: string): Value[] {
    const values: Value[] = [];
    for (;;) {
      values.push(this.level(0));
      const after = this.next();
      if (after === end) return values;
      if (after !== ",") throw new Error(`"${after}" stands where "${end}" belongs.`);
    }
  }

  private next(): string {
    const word = this.tokens[this.place];
    if (word === undefined) throw new Error("The expression ends too early.");
    this.place += 1;
    return word;
  }
}

/**
 * The value of an expression of metric math in one period.
 * @param metrics values of the metrics by their ids; undefined for one without a data point in the period
 * @returns undefined where the expression has no data point
 * @throws Error for what it does not understand, rather than to guess
 */
export function calculate(expression: string, metrics: Readonly<Record<string, number | undefined>>): Value {
  return new Reader(expression, metrics).whole();
}
