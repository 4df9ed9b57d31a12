import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { type Cloud, type CloudOptions, startCloud } from "../../../infra/local/cloud.ts";
import type { Exchange, Reply } from "../../../infra/local/gateway/exchange.ts";
import type { OnAnswer } from "../../../infra/local/gateway/index.ts";
import type { Stage } from "../../../shared/routes/route.ts";
import { judge, type SeenExchange } from "../rules/description.ts";
import type { ApiClient, Credentials } from "./api-client.ts";
import { type Application, type ApplicationOptions, newApplication } from "./application.ts";

/** The synthesized stack on this machine, with a first tenant. */
export interface Stack {
  readonly cloud: Cloud;
  readonly baseUrl: string;
  readonly api: ApiClient;
  readonly tenant_id: string;
  readonly application_id: string;
  readonly credentials: Credentials;
  /** Folder of everything that the stack keeps: database, secrets, API keys, logs. */
  readonly dataDir: string;
  /** An application of a tenant of its own, or of the named one. */
  newApplication(options?: ApplicationOptions): Promise<Application>;
  stop(): Promise<void>;
}

/** An exchange of the gateway in the terms of the document. */
export function seenOf({ method, path, query, headers, body }: Exchange, reply: Reply): SeenExchange {
  return {
    method,
    path,
    query,
    request_headers: headers,
    request_body: body.toString(),
    status: reply.status,
    headers: reply.headers,
    body: reply.status === 304 ? "" : reply.body.toString(),
  };
}

/** Starts the stack on a fresh data folder, on free ports; `stop` fails when it answered what the document forbids. */
export async function startStack(options: Partial<CloudOptions> = {}, stage: Stage = "sandbox"): Promise<Stack> {
  const dataDir = mkdtempSync(join(tmpdir(), "brokerage-data-"));
  const faults = new Set<string>();
  const onAnswer: OnAnswer = (exchange, reply) => {
    for (const fault of judge(seenOf(exchange, reply))) faults.add(fault);
  };
  const cloud = await startCloud({ assemblyDir: inject("assemblyDir"), dataDir, port: 0, onAnswer, ...options });
  try {
    const first = await newApplication(cloud, {}, stage);
    return {
      cloud,
      baseUrl: cloud.baseUrl,
      ...first,
      dataDir,
      newApplication: (wanted) => newApplication(cloud, wanted, stage),
      async stop() {
        await cloud.stop();
        rmSync(dataDir, { recursive: true, force: true });
        if (faults.size > 0)
          throw new Error(`The document does not allow what was answered:\n${[...faults].join("\n")}`);
      },
    };
  } catch (error) {
    await cloud.stop();
    throw error;
  }
}
