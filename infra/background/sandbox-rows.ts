import { quoteType } from "../../shared/table/table-shape.ts";
import { eraseStatements, quoteStatements, tableStatements } from "../constructs/grants.ts";
import {
  dueProviderKeys,
  dueResetKeys,
  dueWalkKeys,
  symbolKeys,
  tenantKeys,
  walkKeys,
} from "../constructs/key-patterns.ts";
import { type BackgroundRow, everyMinute } from "./row.ts";

/** The functions without a route that only the sandbox has. */
export const sandboxRows: readonly BackgroundRow[] = [
  /** The payment provider of the sandbox: it decides about transactions as PATCH does. */
  {
    id: "sandbox-simulate-provider",
    file: "sandbox/simulate-provider",
    description: "Acts as the payment provider of the sandbox",
    trigger: everyMinute,
    stage: "sandbox",
    timeoutSeconds: 60,
    statements: ({ table, volatile }) => [
      ...tableStatements(["query:due"], { tableArn: table, keys: dueProviderKeys }),
      ...tableStatements(["read", "query", "put", "update", "delete"], { tableArn: table, keys: tenantKeys }),
      ...quoteStatements(["read:quotes"], volatile),
    ],
  },
  /** Removes what a brokerage of the sandbox had; no other role may remove a ledger, and no other stage has it. */
  {
    id: "sandbox-reset",
    file: "sandbox/reset",
    description: "Removes what brokerages of the sandbox had before they were reset",
    trigger: everyMinute,
    stage: "sandbox",
    timeoutSeconds: 60,
    statements: ({ table, volatile }) => [
      ...tableStatements(["query:due"], { tableArn: table, keys: dueResetKeys }),
      ...tableStatements(["read", "query", "query:list"], { tableArn: table, keys: tenantKeys }),
      ...eraseStatements(table, volatile),
      ...quoteStatements(["put:quotes"], volatile),
    ],
  },
  /** Lets prices of the sandbox walk. */
  {
    id: "sandbox-walk",
    file: "sandbox/walk",
    description: "Moves the prices of the sandbox that walk",
    trigger: everyMinute,
    stage: "sandbox",
    timeoutSeconds: 60,
    statements: ({ table, volatile }) => [
      ...tableStatements(["query:due"], { tableArn: table, keys: dueWalkKeys }),
      ...tableStatements(["read"], { tableArn: table, keys: [...walkKeys, ...symbolKeys] }),
      ...tableStatements(["update"], { tableArn: table, keys: walkKeys }),
      ...quoteStatements(["read:quotes", "put:quotes"], volatile),
    ],
  },
  /** Fills orders and closes positions at their stops in the sandbox, where no platform does it. */
  {
    id: "sandbox-match",
    file: "sandbox/match",
    description: "Fills orders and closes positions at their stops in the sandbox",
    // The second reader of prices, which waits a second for more of them. The next price makes up for work that failed
    // in all its tries.
    trigger: {
      stream: {
        table: "volatile",
        images: [{ et: { S: [quoteType] } }],
        batchSize: 500,
        windowSeconds: 1,
        maximumRetryAttempts: 5,
      },
    },
    stage: "sandbox",
    timeoutSeconds: 60,
    statements: ({ table, volatile }) => [
      ...tableStatements(["read", "query", "query:state", "query:client", "put", "update", "delete"], {
        tableArn: table,
        keys: tenantKeys,
      }),
      ...quoteStatements(["read:quotes"], volatile),
    ],
  },
];
