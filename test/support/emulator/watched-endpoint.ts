import { servePassage } from "../passage.ts";

/** One call of the service to DynamoDB, as it went over the wire. */
export interface TableCall {
  /** Name of the operation: `BatchGetItem`. */
  readonly operation: string;
  /** Names of the tables that it is about. */
  readonly tables: readonly string[];
  /** The request, parsed. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The answer, parsed; undefined until it is there. */
  readonly output: Readonly<Record<string, unknown>> | undefined;
  /** When it came, and when its answer went back, by `performance.now()`. */
  readonly began_ms: number;
  readonly ended_ms: number | undefined;
}

/** An answer that a test gives in DynamoDB's place. */
export interface PlantedAnswer {
  readonly status: number;
  readonly body: object;
}

/** Act of a test on a call: nothing, an answer of its own, or the answer lost on its way back. */
export type Interference = undefined | PlantedAnswer | "lose_answer";

/** A way to DynamoDB on which every call is seen, and on which a test may interfere. */
export interface WatchedEndpoint {
  readonly endpoint: string;
  /** Calls since the last `takeCalls`, in the order in which they came; none are kept before the first one. */
  readonly takeCalls: () => TableCall[];
  /** Asked about every call before it goes on; may wait. */
  interfere: (call: TableCall) => Interference | Promise<Interference>;
  readonly stop: () => Promise<void>;
}

/** A door that stays shut until it is opened. */
export function closedDoor(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** Serves a way to an emulator that passes every call on and asks for the capacity that it consumed. */
export async function watchEndpoint(target: string): Promise<WatchedEndpoint> {
  let calls: TableCall[] | undefined;
  const watched = {
    interfere: (_call: TableCall): Interference | Promise<Interference> => undefined,
    takeCalls: () => {
      const taken = calls ?? [];
      calls = [];
      return taken;
    },
  };
  const { endpoint, stop } = await servePassage(target, () => {
    let call: PassingCall | undefined;
    let interference: Interference;
    return {
      async request({ head, body }) {
        const [, operation = ""] = /^x-amz-target: *[^.\r]*\.(\w+)/im.exec(head) ?? [];
        const text = body.toString();
        call = new PassingCall(operation, text);
        calls?.push(call);
        interference = await watched.interfere(call);
        if (interference !== undefined && interference !== "lose_answer") return { back: answerOf(interference) };
        return { on: withBody(head, withCapacity(text)) };
      },
      answer: ({ body }) => {
        if (call !== undefined) {
          call.answer = body;
          call.ended_ms = performance.now();
        }
        return interference !== "lose_answer";
      },
    };
  });
  return Object.assign(watched, { endpoint, stop });
}

/** A request with another body. */
function withBody(head: string, body: string): string {
  const length = Buffer.byteLength(body);
  return `${head.replace(/^(content-length): *\d+/im, `$1: ${length}`)}\r\n\r\n${body}`;
}

function answerOf({ status, body }: PlantedAnswer): string {
  const head = `HTTP/1.1 ${status} Planted\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: 0`;
  return withBody(head, JSON.stringify(body));
}

/** A call on its way. It is parsed only when a test looks at it, for most are never looked at. */
class PassingCall implements TableCall {
  readonly operation: string;
  private readonly text: string;
  private parsed: Readonly<Record<string, unknown>> | undefined;
  readonly began_ms = performance.now();
  ended_ms: number | undefined;
  answer: Buffer | undefined;

  constructor(operation: string, text: string) {
    this.operation = operation;
    this.text = text;
  }

  get input(): Readonly<Record<string, unknown>> {
    this.parsed ??= JSON.parse(this.text) as Record<string, unknown>;
    return this.parsed;
  }

  get tables(): string[] {
    return tablesOf(this.input);
  }

  get output(): Readonly<Record<string, unknown>> | undefined {
    return this.answer === undefined ? undefined : JSON.parse(this.answer.toString());
  }
}

/** The request with the question for the capacity that it consumes, as its first member or instead of its own. */
function withCapacity(text: string): string {
  if (text === "{}" || text.includes("ReturnConsumedCapacity")) {
    return JSON.stringify({ ...JSON.parse(text), ReturnConsumedCapacity: "TOTAL" });
  }
  return `{"ReturnConsumedCapacity":"TOTAL",${text.slice(text.indexOf("{") + 1)}`;
}

function tablesOf(input: Readonly<Record<string, unknown>>): string[] {
  const names = new Set<string>();
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      if (name === "TableName") names.add(String(member));
      else if (name === "RequestItems") for (const table of Object.keys(member as object)) names.add(table);
      else if (name === "TransactItems" || /^\d+$/.test(name) || /^(?:Put|Update|Delete|ConditionCheck)$/.test(name))
        look(member);
    }
  };
  look(input);
  return [...names];
}

/** DynamoDB's answer to a cancelled transaction with these codes, one per member. */
export function cancelled(...codes: string[]): PlantedAnswer {
  return {
    status: 400,
    body: {
      __type: "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
      Message: `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes.join(", ")}]`,
      CancellationReasons: codes.map((Code) => ({ Code })),
    },
  };
}

/** DynamoDB's answer to a call that failed with an exception of this name. */
export function failure(name: string, message = "no"): PlantedAnswer {
  return { status: 400, body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message } };
}

/** Capacity units that calls consumed, on the table and on its indexes together. */
export function unitsOf(calls: readonly TableCall[]): number {
  return calls
    .flatMap(({ output }) => output?.["ConsumedCapacity"] as Consumed | Consumed[] | undefined)
    .reduce((sum, each) => sum + (each?.CapacityUnits ?? 0), 0);
}

interface Consumed {
  readonly CapacityUnits?: number;
}
