import { existsSync, readFileSync } from "node:fs";
import { ServiceClient } from "../../../infra/tools/service-client.ts";
import { UsageError } from "../../../shared/runtime/command-line.ts";
import type { SignInUser } from "../stack/sign-in.ts";
import type { SceneCall } from "./scene.ts";

/** A service that `npm start` runs on this machine. */
export interface RunningService {
  readonly dashboard_url: string;
  readonly owner: SignInUser;
  /** Calls the API as the demo application. */
  readonly call: SceneCall;
}

/** Announcement of `npm start`, as far as it is needed here. */
interface Ready {
  readonly base_url: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly dashboard_url: string;
  readonly sign_in: { readonly operators: readonly (SignInUser & { readonly role: string })[] } | null;
}

const readyFile = ".local/ready.json";

/** The service that runs now. Throws a UsageError when there is none, or none with a demo owner. */
export function runningService(): RunningService {
  if (!existsSync(readyFile)) throw new UsageError("No service runs here: npm start starts one.");
  const { dashboard_url, sign_in, ...connection }: Ready = JSON.parse(readFileSync(readyFile, "utf8"));
  const owner = sign_in?.operators.find(({ role }) => role === "owner");
  if (owner === undefined) throw new UsageError("The service has no demo owner: npm start -- --fresh makes one.");
  const client = new ServiceClient(connection, { tries: 10 });
  const call: SceneCall = async <T>(method: string, path: string, body?: object) =>
    (await client.call<T>(method, path, body === undefined ? {} : { body })).body;
  return { dashboard_url, owner, call };
}
