import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { extname, join, resolve, sep } from "node:path";
import { context } from "esbuild";
import { buildOptions, indexHtml } from "./build.ts";

/** Announcement of `npm start`, as far as the dashboard needs it. */
interface Ready {
  readonly base_url: string;
  readonly stream_url: string;
  readonly sign_in: { readonly issuer: string; readonly client_id: string } | null;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".woff2": "font/woff2",
};

/**
 * Builds on every change and serves the result on 127.0.0.1, with the headers that a deployment sends. `/v2` goes to
 * the service that `npm start` announces in the file, which is read again at each request: the service may restart.
 */
export async function serveDevelopment(out: string, readyFile: string, port: number): Promise<Server> {
  await mkdir(out, { recursive: true });
  const building = await context({
    ...buildOptions(out, true),
    logLevel: "warning",
    plugins: [
      {
        name: "index",
        setup: ({ onEnd }) => {
          onEnd(async ({ metafile, errors }) => {
            if (errors.length > 0 || metafile === undefined) return;
            await writeFile(join(out, "index.html"), indexHtml(metafile));
            console.log(`  built at ${new Date().toISOString().slice(11, 19)} UTC`);
          });
        },
      },
    ],
  });
  await building.rebuild();
  await building.watch();
  const server = createServer((message, response) => {
    answer(out, readyFile, message, response).catch((error: Error) => send(response, 500, ".txt", error.message));
  });
  server.on("close", () => void building.dispose());
  await new Promise<void>((done, failed) => {
    server.once("error", failed);
    server.listen(port, "127.0.0.1", done);
  });
  return server;
}

async function answer(
  out: string,
  readyFile: string,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname } = new URL(message.url ?? "/", "http://127.0.0.1");
  const ready: Ready | undefined = existsSync(readyFile) ? JSON.parse(readFileSync(readyFile, "utf8")) : undefined;
  if (pathname.startsWith("/v2/")) return forward(ready, message, response);
  if (pathname === "/config.json") {
    const config = configOf(ready);
    return send(response, config === undefined ? 503 : 200, ".json", JSON.stringify(config ?? {}));
  }
  const asked = extname(pathname) === "" ? "index.html" : pathname.slice(1);
  const file = resolve(out, asked);
  const content = file.startsWith(resolve(out) + sep) ? await readFile(file).catch(() => undefined) : undefined;
  if (content === undefined) return send(response, 404, ".txt", "There is no such file.\n");
  send(response, 200, extname(file), content, policyOf(ready));
}

/** The addresses of a deployment, for a service on this machine. */
function configOf(ready: Ready | undefined): object | undefined {
  if (ready?.sign_in == null) return undefined;
  const { issuer, client_id } = ready.sign_in;
  return { issuer, client_id, logout_url: `${new URL(issuer).origin}/logout`, api_url: ready.base_url };
}

/** As strict as the policy of a deployment, so that a violation is seen while a page is written. */
function policyOf(ready: Ready | undefined): string {
  const pool = ready?.sign_in == null ? "" : ` ${new URL(ready.sign_in.issuer).origin}`;
  const stream = ready === undefined ? "" : ` ${new URL(ready.stream_url).origin}`;
  return [
    "default-src 'none'; script-src 'self'; style-src 'self'",
    `connect-src 'self'${pool}${stream}; img-src 'self' data:; font-src 'self'`,
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  ].join("; ");
}

function forward(ready: Ready | undefined, message: IncomingMessage, response: ServerResponse): void {
  if (ready === undefined) {
    send(response, 502, ".txt", "Start the service first: npm start -- --port 4000\n");
    return;
  }
  const { origin, host } = new URL(ready.base_url);
  const { method = "GET", headers } = message;
  const forwarded = request(new URL(message.url ?? "/", origin), { method, headers: { ...headers, host } }, (reply) => {
    response.writeHead(reply.statusCode ?? 502, reply.headers);
    reply.pipe(response);
  });
  forwarded.on("error", (error) => {
    if (response.headersSent) response.destroy();
    else send(response, 502, ".txt", `The service does not answer: ${error.message}\n`);
  });
  message.pipe(forwarded);
}

function send(response: ServerResponse, status: number, ending: string, body: string | Buffer, policy?: string): void {
  response.writeHead(status, {
    "Content-Type": types[ending] ?? "text/plain; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    ...(policy !== undefined && { "Content-Security-Policy": policy }),
  });
  response.end(body);
}
