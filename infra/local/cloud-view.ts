import type { Buckets } from "./buckets/buckets.ts";
import type { InvocationOutcome } from "./functions/functions.ts";
import type { Grant, UnusedGrant } from "./iam/grants.ts";
import type { UserPool } from "./pool/index.ts";
import type { Queues } from "./queues/queues.ts";
import type { Assembly } from "./template/assembly.ts";

/** The template, running. */
export interface Cloud {
  /** Address of the API with its stage, `http://127.0.0.1:3000/v2`. */
  readonly baseUrl: string;
  /** Address of the dashboard, `http://127.0.0.1:3003/`; undefined where the template has no distribution. */
  readonly dashboardUrl: string | undefined;
  /** Where clients of the stream connect, `ws://127.0.0.1:3004/v2`; undefined without a WebSocket API. */
  readonly streamUrl: string | undefined;
  /** Address of the AWS endpoint. */
  readonly endpoint: string;
  /** Access key id of this run at the AWS endpoint: of a function by its ARN, or of the `operator`. */
  accessKeyOf(holder: string): string;
  /** Address of the DynamoDB server itself: no permissions, no conflicts. */
  readonly dynamodbEndpoint: string;
  readonly region: string;
  readonly assembly: Assembly;
  /** Physical table names by logical path. */
  readonly tables: Readonly<Record<string, string>>;
  /** Processes of functions alive now. */
  readonly functions: readonly { readonly function: string; readonly pid: number; readonly busy: boolean }[];
  /** Process ids of everything that was started and still runs, functions left out. */
  readonly servers: Readonly<Record<string, number>>;
  /** Rejects when a server ended by itself; never resolves. */
  readonly failed: Promise<never>;
  /** Invokes a function by name or ARN; rejects with FunctionCrash or FunctionTimeout. */
  invoke(functionName: string, payload: unknown): Promise<InvocationOutcome>;
  /** Rights of the functions' roles, as written. */
  grants(): Grant[];
  /** Rights that were used since the start. */
  grantsUsed(): Grant[];
  /** Rights that no call needed yet. */
  unusedGrants(): UnusedGrant[];
  /** Rotates every secret that has a rotation now, as RotateSecret does. */
  rotateSecrets(): Promise<void>;
  /** The user pool of operators; undefined where the template has none. */
  readonly pool: UserPool | undefined;
  /** The buckets of the template. */
  readonly buckets: Buckets;
  /** The queues of the template, by their names. */
  readonly queues: Queues;
  /** Deletes items whose time to live has passed; returns how many. */
  sweepExpired(): Promise<number>;
  /** Ends everything. */
  stop(): Promise<void>;
}
