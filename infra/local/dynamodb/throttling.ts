import { AwsError } from "../aws-error.ts";
import type { RawReply } from "../forward.ts";

type Body = Readonly<Record<string, unknown>>;

/**
 * Answers part of the calls as DynamoDB answers when it is asked too much. `random` gives numbers from 0 up to 1; a
 * call is throttled when it gives less than `share`.
 */
export class Throttling {
  private readonly share: number;
  private readonly random: () => number;
  private turn = 0;

  constructor(share: number, random: () => number) {
    this.share = share;
    this.random = random;
  }

  /**
   * The answer to a batch of which nothing was done, undefined for a call that is to be done. Throws the AwsError of
   * any other call that is throttled.
   */
  answer(operation: string, body: Body): RawReply | undefined {
    if (this.share === 0 || this.random() >= this.share) return undefined;
    this.turn += 1;
    if (operation === "TransactWriteItems" || operation === "TransactGetItems") throw cancelled(body);
    // A batch of which something could be done is answered 200, with what is left (AWS docs: BatchGetItem).
    const { RequestItems } = body;
    if (operation === "BatchGetItem") return reply({ Responses: {}, UnprocessedKeys: RequestItems });
    if (operation === "BatchWriteItem") return reply({ UnprocessedItems: RequestItems });
    throw this.turn % 2 === 0 ? throttled() : exceeded();
  }
}

function reply(body: object): RawReply {
  return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)) };
}

function exceeded(): AwsError {
  const text = "The level of configured provisioned throughput for the table was exceeded.";
  return new AwsError(400, "ProvisionedThroughputExceededException", text);
}

/** Error of a table without provisioned throughput. */
function throttled(): AwsError {
  const text = "Throughput exceeds the current capacity of your table or index.";
  return new AwsError(400, "ThrottlingException", text);
}

/** A transaction is cancelled for one member of it. */
function cancelled({ TransactItems: members }: Body): AwsError {
  const codes = (Array.isArray(members) ? members : []).map((_, place) => (place === 0 ? "ThrottlingError" : "None"));
  const text = "Transaction cancelled, please refer cancellation reasons for specific reasons";
  return new AwsError(400, "TransactionCanceledException", `${text} [${codes.join(", ")}]`, {
    CancellationReasons: codes.map((Code) => (Code === "None" ? { Code } : { Code, Message: "Throughput exceeded." })),
  });
}
