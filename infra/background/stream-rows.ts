import { quoteStatements, streamStatements, tableStatements } from "../constructs/grants.ts";
import { publicKeyKeys, subscribedKeys, tenantKeys, withinTenants } from "../constructs/key-patterns.ts";
import { type BackgroundRow, everyMinute } from "./row.ts";

/** Writes that end a connection. */
const leaving = ["update", "delete"] as const;

/** The functions of the stream that every stage has. */
export const streamRows: readonly BackgroundRow[] = [
  /** Verifies the token of a handshake, or uses up its ticket, and reads the holder. */
  {
    id: "stream-authorize",
    file: "stream/authorize",
    description: "Authorizer of the stream: verifies access tokens and uses up tickets",
    trigger: { socket: "authorizer" },
    timeoutSeconds: 10,
    sendsEvents: ["refusals"],
    statements: ({ table, volatile }) => {
      const { applications, families, operators } = withinTenants;
      return [
        ...tableStatements(["read"], { tableArn: table, keys: [applications, families, operators, ...publicKeyKeys] }),
        ...streamStatements(["take:tickets"], volatile),
      ];
    },
  },
  {
    id: "stream-connect",
    file: "stream/connect",
    description: "Opens connections of the stream",
    trigger: { socket: "connect" },
    timeoutSeconds: 10,
    sendsEvents: ["stream"],
    statements: ({ volatile }) => streamStatements(["read", ...leaving, "put", "put:list"], volatile),
  },
  {
    id: "stream-disconnect",
    file: "stream/disconnect",
    description: "Ends connections of the stream",
    trigger: { socket: "disconnect" },
    timeoutSeconds: 10,
    logsUsage: true,
    statements: ({ volatile }) => streamStatements(leaving, volatile),
  },
  /** Answers clients; of the main table it sees what a subscription names, to say what does not exist. */
  {
    id: "stream-message",
    file: "stream/message",
    description: "Answers messages of clients of the stream",
    trigger: { socket: "message" },
    timeoutSeconds: 10,
    logsUsage: true,
    posts: true,
    sendsEvents: ["stream"],
    statements: ({ table, volatile }) => [
      ...tableStatements(["read"], { tableArn: table, keys: subscribedKeys }),
      ...streamStatements(leaving, volatile),
    ],
  },
  /**
   * Sends connections what is due to them. It shows what clients of the API may read, and of that it writes nothing but
   * how far each connection is. At most so long as its queue hides a message, see `limits.queues`.
   */
  {
    id: "stream-deliver",
    file: "stream/deliver",
    description: "Sends events and states to connections of the stream",
    trigger: { queue: "stream" },
    timeoutSeconds: 10,
    logsUsage: true,
    posts: true,
    sendsEvents: ["stream"],
    // A set that is hot is handed from run to run for as long as it has connections and something comes (`nextStep`).
    endsItself: true,
    environment: ({ postsPerSecond }) => ({
      POSTS_PER_SECOND: String(postsPerSecond),
    }),
    statements: ({ table, volatile }) => [
      ...tableStatements(["read", "query", "query:state"], { tableArn: table, keys: tenantKeys }),
      ...quoteStatements(["read:quotes"], volatile),
      ...streamStatements(["read", ...leaving], volatile),
    ],
  },
  {
    id: "stream-sweep",
    file: "stream/sweep",
    description: "Wakes the sets of connections and repairs what was not finished",
    trigger: everyMinute,
    timeoutSeconds: 60,
    logsUsage: true,
    sendsEvents: ["stream"],
    statements: ({ volatile }) => streamStatements(["read", ...leaving, "query:list", "delete:list"], volatile),
  },
];
