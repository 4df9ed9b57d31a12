import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it, vi } from "vitest";
import type { Handler } from "../../shared/http/endpoint.ts";
import { isHarmless, warmUpRequest } from "../../shared/http/warm-up.ts";
import { routes } from "../../shared/routes/index.ts";
import { startApi } from "../support/emulator/api.ts";
import { lambdaContext } from "../support/emulator/request.ts";
import { closedDoor } from "../support/emulator/watched-endpoint.ts";

const api = await startApi("watched");
afterAll(api.stop);

const guarded = routes.filter(({ file }) => !/^(?:documents|oauth)\//.test(file));
const warmedRows = guarded.filter(isHarmless).map((row) => [row.method, row.path, row] as const);

/** The warm-up request of a row by an application of its own: all of them by one exceed its requests per second. */
function requestOfItsOwn(row: (typeof routes)[number]) {
  const request = warmUpRequest(row);
  const authorizer = { ...request.requestContext.authorizer, actor_id: `app_${row.method}_${row.path}` };
  return { ...request, requestContext: { ...request.requestContext, authorizer } };
}

describe("a warm-up request, which every new environment answers before its first request", () => {
  it("is sent to most rows, and to none that creates a resource", () => {
    expect(warmedRows.length).toBeGreaterThan(60);
    const creating = guarded.filter((row) => !isHarmless(row));
    expect(creating.map(({ method }) => method).filter((method) => method === "GET")).toEqual([]);
  });

  it.each(warmedRows)("%s %s finds nothing, and writes nothing but its count", async (_method, _path, row) => {
    const file = fileURLToPath(new URL(`../../functions/${row.file}.ts`, import.meta.url));
    const { handler } = (await import(/* @vite-ignore */ file)) as { readonly handler: Handler };
    api.watched.takeCalls();
    const { statusCode } = await handler(requestOfItsOwn(row), lambdaContext());
    // A command that reads its caller refuses an application that does not exist, by the same read.
    expect([200, 400, 404, 422, ...(row.standing === undefined ? [] : [401])]).toContain(statusCode);
    const writes = api.watched
      .takeCalls()
      .filter(({ operation }) => !/^(?:BatchGetItem|Query|GetItem)$/.test(operation));
    expect(writes.map(({ operation, tables }) => [operation, tables])).toEqual([
      ["UpdateItem", [api.emulator.volatileTableName]],
    ]);
    expect(api.queues.takeMessages()).toEqual([]);
    expect(api.secretsManager.asked).toEqual([]);
  });
});

describe("an environment of Lambda", () => {
  it("is warmed up before its first request, without a line in its log", async () => {
    vi.resetModules();
    vi.stubEnv("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand");
    const written = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    try {
      api.watched.takeCalls();
      await import("../../functions/clients/get.ts");
      const operations = api.watched.takeCalls().map(({ operation }) => operation);
      expect(operations.sort()).toEqual(["BatchGetItem", "UpdateItem"]);
      expect(written).not.toHaveBeenCalled();
    } finally {
      written.mockRestore();
      vi.unstubAllEnvs();
    }
  });

  it("does not wait for a table that is silent", async () => {
    vi.resetModules();
    vi.stubEnv("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand");
    const door = closedDoor();
    api.watched.interfere = async () => {
      await door.opened;
      return undefined;
    };
    try {
      api.watched.takeCalls();
      await import("../../functions/clients/list.ts");
      // The client would try again after three seconds.
      expect(api.watched.takeCalls()).toHaveLength(2);
    } finally {
      door.open();
      api.watched.interfere = () => undefined;
      vi.unstubAllEnvs();
    }
  });

  it("whose row creates a resource only connects", async () => {
    vi.resetModules();
    vi.stubEnv("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand");
    try {
      api.watched.takeCalls();
      await import("../../functions/clients/create.ts");
      expect(api.watched.takeCalls().map(({ operation }) => operation)).toEqual(["UpdateItem"]);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
