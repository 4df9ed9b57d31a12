import type { AwsCall, DeniedCall } from "./aws-endpoint.ts";
import type { OnAnswer } from "./gateway/index.ts";
import type { BatchChange } from "./queues/pollers.ts";
import type { StreamChange } from "./streams/streams.ts";

/** Options of a run. */
export interface CloudOptions {
  /** Folder of the cloud assembly. */
  readonly assemblyDir: string;
  /** Folder of the database, secrets, keys and checkpoints; kept from run to run. */
  readonly dataDir: string;
  /** Folder of the log files; default `logs` in the data folder. */
  readonly logsDir?: string;
  /** Port of the gateway on the loopback; 0 takes any. */
  readonly port: number;
  /** How much faster business delays and schedules pass; default 1. */
  readonly timeScale?: number;
  /**
   * Each schedule has its first turn when the cloud starts, as after its creation on AWS; default true. Without it the
   * first turn comes after the interval, as in a stage that has run for a while.
   */
  readonly schedulesAtStart?: boolean;
  /** How long a transaction keeps its items beyond the time the server takes; default 0. */
  readonly transactionHoldMs?: number;
  /** How long indexes lag behind their tables; default 0. */
  readonly indexLagMs?: number;
  /** Part of the functions' calls that DynamoDB throttles, from 0 to 1; default 0. */
  readonly throttledShare?: number;
  /** Processes of functions alive at the same time; default 24. */
  readonly maxEnvironments?: number;
  /** Functions get no leave to reach local addresses, as on AWS. */
  readonly strictEgress?: boolean;
  /** Puts other batches of a queue into a batch's place: repeated, in another order, or with messages left out. */
  readonly onQueueBatch?: BatchChange;
  /** The same for a batch of a stream. */
  readonly onStreamBatch?: StreamChange;
  /** Looks on at every call of a function to AWS, before it is done and before the function learns its answer. */
  readonly onCall?: (call: AwsCall) => void | Promise<void>;
  /** Looks on at every answer of the API, regardless of caller and origin. */
  readonly onAnswer?: OnAnswer;
  /** Told about each call that a role does not allow. */
  readonly onDenied?: (denied: DeniedCall) => void;
  /** Told what is worth a line: refusals of the gateway, a server that ended. */
  readonly onNews?: (line: string) => void;
}
