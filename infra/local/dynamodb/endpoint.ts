import { AwsError } from "../aws-error.ts";
import type { Forwarder, RawReply } from "../forward.ts";
import { RequestError, type TableKeys, type TableRequest, tableRequest } from "./access.ts";
import { type Conflict, ItemsInFlight } from "./items-in-flight.ts";
import type { Throttling } from "./throttling.ts";

type Body = Readonly<Record<string, unknown>>;

/** Parts between functions and the DynamoDB server. */
export interface DynamoEndpointOptions {
  readonly tables: readonly TableKeys[];
  readonly server: Forwarder;
  /** Region that ARNs carry here. */
  readonly region: string;
  /**
   * How long a write transaction keeps its items after the server has answered, since the server is faster than AWS.
   */
  readonly transactionHoldMs: number;
  readonly throttling: Throttling;
  /** Tables that stand for the indexes of others, by their names. */
  readonly lateIndexes: ReadonlyMap<string, string>;
  /** Told about the tables of each write that the server accepted. */
  readonly wrote: (tables: readonly string[]) => void;
}

/** A call as it came. */
export interface RawCall {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

const conflictText = "Transaction is ongoing for the item";

/** Forwards DynamoDB calls: names for ARNs, the conflicts that the server does not know, and whom a write wakes. */
export class DynamoEndpoint {
  private readonly options: DynamoEndpointOptions;
  private readonly tables: ReadonlyMap<string, TableKeys>;
  private readonly inFlight = new ItemsInFlight();

  constructor(options: DynamoEndpointOptions) {
    this.options = options;
    this.tables = new Map(options.tables.map((table) => [table.name, table]));
  }

  /** The grants and items of a call; throws an AwsError for calls that this runner does not know. */
  read(operation: string, body: Body): TableRequest {
    try {
      return tableRequest(operation, body, this.tables);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      const missing = error.message.startsWith("Requested resource");
      throw new AwsError(400, missing ? "ResourceNotFoundException" : "ValidationException", error.message);
    }
  }

  /** Does an allowed call, whose body is also given as it came; throws AwsErrors for conflicts. */
  async call(operation: string, body: Body, request: TableRequest, sent: RawCall): Promise<RawReply> {
    const throttled = this.options.throttling.answer(operation, body);
    if (throttled !== undefined) return throttled;
    const release = this.take(operation, body, request);
    try {
      const reply = await this.options.server.post("/", sent.headers, this.textFor(operation, body, sent.text));
      const hold = operation === "TransactWriteItems" ? this.options.transactionHoldMs : 0;
      if (hold > 0) await new Promise((resolve) => setTimeout(resolve, hold));
      if (reply.status === 200 && request.writes.length > 0) this.options.wrote(request.writes);
      return { ...reply, body: this.withRegion(reply.body, operation) };
    } finally {
      release?.();
    }
  }

  /** A call as the server takes it. */
  private textFor(operation: string, body: Body, text: string): string {
    const named = text.replace(tableArns, '"TableName":"$1"');
    if (operation !== "Query" || typeof body["IndexName"] !== "string") return named;
    return named.replace(/"TableName":\s*"([^"]+)"/, (whole, table: string) => {
      const late = this.options.lateIndexes.get(table);
      return late === undefined ? whole : `"TableName":"${late}"`;
    });
  }

  /** Takes the items of a write, or throws the conflict that DynamoDB would answer with. */
  private take(operation: string, body: Body, { items }: TableRequest): (() => void) | undefined {
    if (operation === "TransactWriteItems") {
      const token = typeof body["ClientRequestToken"] === "string" ? body["ClientRequestToken"] : undefined;
      if (token !== undefined && this.inFlight.hasToken(token)) {
        const text = "Transaction with the given request token is already in progress";
        throw new AwsError(400, "TransactionInProgressException", text);
      }
      const taken = this.inFlight.startTransaction(items, token);
      if (typeof taken !== "function") throw canceled(taken);
      return taken;
    }
    if (operation === "TransactGetItems") {
      const conflict = this.inFlight.readConflict(items);
      if (conflict !== undefined) throw canceled(conflict);
      return undefined;
    }
    if (items.length === 0) return undefined;
    const taken = this.inFlight.startWrite(items);
    if (typeof taken === "function") return taken;
    throw new AwsError(400, "TransactionConflictException", conflictText);
  }

  /** Workaround: the server puts its own name in place of the region into ARNs. */
  private withRegion(body: Buffer, operation: string): Buffer {
    if (!operation.startsWith("Describe")) return body;
    return Buffer.from(body.toString().replaceAll(serverRegionArn, `arn:aws:dynamodb:${this.options.region}:`));
  }
}

/** How ARNs of the server start. */
const serverRegionArn = "arn:aws:dynamodb:dynoxide:";

/**
 * Workaround: the server takes names of tables only, where AWS takes ARNs as well. Attributes of items are objects, so
 * a text after this name is never one of them.
 */
const tableArns = /"TableName":\s*"arn:aws:dynamodb:[^:"]+:\d+:table\/([^"/]+)"/g;

function canceled({ members }: Conflict): AwsError {
  const codes = members.map((taken) => (taken ? "TransactionConflict" : "None"));
  const text = "Transaction cancelled, please refer cancellation reasons for specific reasons";
  const reasons = codes.map((Code) => (Code === "None" ? { Code } : { Code, Message: conflictText }));
  return new AwsError(400, "TransactionCanceledException", `${text} [${codes.join(", ")}]`, {
    CancellationReasons: reasons,
  });
}
