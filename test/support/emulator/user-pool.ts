import { createServer } from "node:http";
import { AwsError } from "../../../infra/local/aws-error.ts";
import { listenOn } from "../../../infra/local/free-port.ts";
import { PoolAdmin } from "../../../infra/local/pool/admin.ts";
import type { PoolSettings } from "../../../infra/local/pool/settings.ts";
import { PoolUsers } from "../../../infra/local/pool/users.ts";
import { StateFile } from "../../../infra/local/state-file.ts";
import { temporaryFolder } from "../../local/fixture.ts";

/** The user pool's control plane as the local runner has it, for functions that run inside the test process. */
export interface UserPoolEndpoint {
  /** The variables by which functions find it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly users: PoolUsers;
  /** Operations that were asked, in order. */
  readonly asked: string[];
  /** Addresses that got a temporary password. */
  readonly mailed: string[];
  /** Users whose sessions were ended. */
  readonly signedOut: string[];
  /** Runs before an operation is done and after it was, before the function gets the answer. */
  meanwhile: ((phase: "before" | "after", operation: string) => Promise<void>) | undefined;
  /** While true, every call is answered by an error of the service. */
  failing: boolean;
  readonly stop: () => Promise<void>;
}

const settings: PoolSettings = {
  ...{ id: "eu-west-1_test", arn: "arn:aws:cognito-idp:eu-west-1:000000000000:userpool/eu-west-1_test" },
  ...{ aws_origin: "", aws_pages: "", client_id: "client", scopes: ["openid"], callback_urls: [], logout_urls: [] },
  ...{ sign_in_seconds: 180, id_token_seconds: 300, access_token_seconds: 300, refresh_token_seconds: 3600 },
  password: {
    ...{ minimum_length: 12, lowercase: true, uppercase: true, numbers: true, symbols: true },
    ...{ history: 0, temporary_days: 7 },
  },
};

/** Starts it on a free port of 127.0.0.1, without a user. */
export async function startUserPool(): Promise<UserPoolEndpoint> {
  const folder = temporaryFolder();
  const users = new PoolUsers(new StateFile(`${folder.path}/pool.json`, { users: [] }), settings.password);
  const [mailed, signedOut]: [string[], string[]] = [[], []];
  const admin = new PoolAdmin(settings, users, {
    signOut: (sub) => signedOut.push(sub),
    mail: (email) => mailed.push(email),
  });
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const operation = String(request.headers["x-amz-target"]).split(".")[1] ?? "";
    running.asked.push(operation);
    await running.meanwhile?.("before", operation);
    const reply = answer(admin, operation, JSON.parse(text), running.failing);
    await running.meanwhile?.("after", operation);
    response.writeHead(reply.status, { "Content-Type": "application/x-amz-json-1.1" }).end(JSON.stringify(reply.body));
  });
  const port = await listenOn(server, 0);
  const running: UserPoolEndpoint = {
    environment: {
      AWS_ENDPOINT_URL_COGNITO_IDENTITY_PROVIDER: `http://127.0.0.1:${port}`,
      USER_POOL_ID: settings.id,
      POOL_ISSUER: `https://cognito-idp.eu-west-1.amazonaws.com/${settings.id}`,
    },
    ...{ users, asked: [], mailed, signedOut, meanwhile: undefined, failing: false },
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      folder.remove();
    },
  };
  return running;
}

function answer(admin: PoolAdmin, operation: string, body: Record<string, unknown>, failing: boolean) {
  try {
    if (failing) throw new AwsError(500, "InternalErrorException", "The service failed.");
    return { status: 200, body: admin.call(operation, body) };
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    return { status: error.status, body: { __type: error.type, message: error.message } };
  }
}
