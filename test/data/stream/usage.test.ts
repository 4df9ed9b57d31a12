import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { noStream, type StreamUsage } from "../../../shared/domain/usage/stream-count.ts";
import { UsageCount } from "../../../shared/domain/usage/usage-count.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { startSocketEndpoint } from "../../support/emulator/socket-endpoint.ts";
import { startStreamGateway } from "../../support/emulator/stream-gateway.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";

const api = await startApi("watched");
const gateway = await startStreamGateway();
const sockets = await startSocketEndpoint();
// Both kinds of functions post to the same connections.
Object.assign(process.env, sockets.environment);
const { streaming } = await import("../../support/emulator/streaming.ts");
afterAll(async () => {
  await sockets.stop();
  await gateway.stop();
  await api.stop();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.useRealTimers();
  api.watched.interfere = () => undefined;
  sockets.fate = () => "taken";
});

/** Log lines from now on. */
function watchedLog(): string[] {
  const lines: string[] = [];
  vi.stubEnv("POWERTOOLS_LOG_LEVEL", "INFO");
  vi.spyOn(process.stdout, "write").mockImplementation((text) => lines.push(String(text)) > 0);
  return lines;
}

/** Usage of a caller in these lines, at any time. */
function counted(lines: readonly string[], actor_id: string): StreamUsage {
  const count = new UsageCount({ from_ms: 0, to_ms: Number.MAX_SAFE_INTEGER });
  for (const line of lines) count.add(line);
  return count.usage.find((each) => each.actor_id === actor_id)?.stream ?? noStream;
}

describe("messages of the worker", () => {
  it("are counted for the holder of the connection that took them, and those that were not taken are not", async () => {
    const work = streaming(api, sockets, newCaller().tenant_id);
    const connections = [await work.connect(), await work.connect()];
    const lines = watchedLog();
    for (const each of connections) await work.subscribe(each, "1", [{ name: "events" }]);
    await work.runAll();
    for (let turn = 0; turn < 3; turn += 1) {
      await work.rest();
      await work.publish(2);
      await work.runAll();
    }
    const lost = sockets.takePosts();
    let isLost = true;
    sockets.fate = ({ connection_id }) => {
      if (!isLost || connection_id !== connections[0]?.connection_id) return "taken";
      isLost = false;
      return "lost";
    };
    await work.publish(1);
    await work.runAll();
    const posts = [...lost, ...sockets.takePosts()];
    for (const { connection_id, holder } of connections) {
      const messages_sent = posts.filter((post) => post.connection_id === connection_id).length;
      expect(messages_sent).toBeGreaterThanOrEqual(4);
      expect(counted(lines, holder.id)).toEqual({ ...noStream, messages_sent });
    }
  });

  it("that a run sends again, since the one before died, count as often as they were sent", async () => {
    const work = streaming(api, sockets, newCaller().tenant_id);
    const connection = await work.connect();
    const lines = watchedLog();
    await work.subscribe(connection, "1", [{ name: "events" }]);
    await work.runAll();
    await work.rest();
    await work.publish(1);
    let deaths = 0;
    // Whatever is written fails: the run dies with the first thing that it notes.
    api.watched.interfere = ({ operation }) => {
      if (operation !== "UpdateItem" || deaths > 0) return undefined;
      deaths += 1;
      return failure("ResourceNotFoundException");
    };
    const again = await work.run(work.wakes());
    expect([deaths, again.length]).toEqual([1, 1]);
    await work.run(again);
    const posts = sockets.takePosts();
    const events = posts.filter(({ text }) => text.includes('"type":"event"'));
    expect(events).toHaveLength(2);
    expect(counted(lines, connection.holder.id).messages_sent).toBe(posts.length);
  });

  it("are one line of a run, however many there are, and without a connection none", async () => {
    const work = streaming(api, sockets, newCaller().tenant_id);
    for (let made = 0; made < 5; made += 1) await work.subscribe(await work.connect(), "1", [{ name: "events" }]);
    await work.runAll();
    await work.rest();
    await work.publish(3);
    const lines = watchedLog();
    await work.run(work.wakes());
    const about = (what: string) => lines.filter((line) => line.includes(`"message":"${what}"`));
    expect(about("stream")).toHaveLength(1);
    const idle = streaming(api, sockets, newCaller().tenant_id);
    await idle.run([idle.wake("sweep")]);
    expect(about("stream")).toHaveLength(1);
  });
});

describe("messages of a client", () => {
  it("are counted by every 32 KB that they begin, and their answers one by one, whatever they hold", async () => {
    const caller = newCaller();
    const { connection } = await gateway.connect(caller);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 10_000 });
    const lines = watchedLog();
    const kilobytes = (count: number) => "x".repeat(count * 1024);
    const sent = [{ type: "ping" }, "", "{", kilobytes(32), `${kilobytes(32)}x`, Buffer.from(kilobytes(100)), "[]"];
    for (const message of sent) {
      vi.setSystemTime(Date.now() + 1000);
      await gateway.send(connection, message);
    }
    const answers = sockets.takePosts().filter((post) => post.connection_id === connection.id);
    expect(answers).toHaveLength(sent.length + 1);
    const usage = counted(lines, caller.application_id);
    expect(usage).toEqual({ messages_sent: answers.length, messages_received: 5 + 2 + 4, connection_minutes: 0 });
    // After its end a client is answered nothing, and what it sends is still carried.
    await gateway.disconnect(connection);
    await gateway.send(connection, { type: "ping" });
    expect(counted(lines, caller.application_id).messages_received).toBe(usage.messages_received + 1);
    for (const line of lines) expect(line).not.toContain(kilobytes(1));
  });
});

describe("a connection", () => {
  const minutes = (count: number) => vi.setSystemTime(Date.now() + count * 60_000);

  it.each([1, 2, 3, 4, 5])(
    "whose end is noted by a function that dies at its write %i counts once, by that end",
    async (death) => {
      const caller = newCaller();
      vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-11-21T10:00:00.000Z") });
      const { connection } = await gateway.connect(caller);
      const lines = watchedLog();
      minutes(7);
      let writes = 0;
      api.watched.interfere = ({ operation }) => {
        if (!/^(?:Put|Update|Delete)Item$/.test(operation)) return undefined;
        writes += 1;
        // The last write before its death is carried out, and it does not see that.
        return writes < death ? undefined : writes === death ? "lose_answer" : failure("ResourceNotFoundException");
      };
      await gateway.disconnect(connection).catch(() => undefined);
      expect(writes).toBeGreaterThanOrEqual(death);
      api.watched.interfere = () => undefined;
      for (let again = 0; again < 2; again += 1) {
        minutes(2);
        await gateway.disconnect(connection);
      }
      expect(counted(lines, caller.application_id)).toEqual({ ...noStream, connection_minutes: 7 });
    },
  );

  it("that several functions end at the same time counts once, and so does one whose end was lost", async () => {
    const caller = newCaller();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-11-21T12:00:00.000Z") });
    const [first, lost] = [await gateway.connect(caller), await gateway.connect(caller)];
    const lines = watchedLog();
    minutes(1.5);
    await Promise.all([1, 2, 3].map(() => gateway.disconnect(first.connection)));
    expect(counted(lines, caller.application_id).connection_minutes).toBe(2);
    // No end of the other one was ever reported: the sweep ends it after its two hours.
    minutes(180);
    await gateway.sweep();
    await gateway.sweep();
    expect(lost.status).toBe(200);
    expect(counted(lines, caller.application_id).connection_minutes).toBe(2 + 120);
  });
});
