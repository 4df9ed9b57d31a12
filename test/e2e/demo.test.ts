import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { StreamClient } from "../../infra/sdk/stream/stream-client.ts";
import { followStream } from "../../infra/tools/demo/follow-stream.ts";
import { type DemoStep, lifePlot, lifeTable, tableOf } from "../../infra/tools/demo/picture.ts";
import { type Arrival, type Streamed, tellStory } from "../../infra/tools/demo/story.ts";
import { type Receiver, startReceiver } from "../../infra/tools/receiver/receiver.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";

describe("the story of the demo", () => {
  const arrivals: Arrival[] = [];
  const secrets: string[] = [];
  const said: string[] = [];
  let stack: Stack;
  let receiver: Receiver;
  let stream: StreamClient | undefined;
  const streamed: Streamed[] = [];
  let moments: readonly DemoStep[];

  beforeAll(async () => {
    stack = await sharedStack();
    const seen = (body: string, signature: string) => {
      const { sequence, type, id } = JSON.parse(body) as { sequence: string; type: string; id: string };
      arrivals.push({ sequence: Number(sequence), type, id, signature });
    };
    const quiet = { status: 200, failFirst: 0, delayMs: 0, print: () => undefined };
    receiver = await startReceiver({ port: 0, secrets, seen, ...quiet });
    const call = (method: string, path: string, body?: object) =>
      stack.api.call(method, path, body === undefined ? {} : { body });
    stream = followStream(call, streamed);
    moments = await tellStory({
      call,
      say: (text) => void said.push(text),
      receiverUrl: receiver.url,
      expectSecret: (secret) => void secrets.push(secret),
      arrivals,
      streamed,
    });
  }, 120_000);
  afterAll(async () => {
    stream?.close();
    await receiver?.stop();
    await stack?.stop();
  });

  it("brings every webhook once, with good signatures, numbered in the order in which it happened", () => {
    expect(arrivals.map(({ signature }) => signature)).toEqual(arrivals.map(() => "good"));
    expect(new Set(arrivals.map(({ id }) => id)).size).toBe(arrivals.length);
    expect(arrivals.toSorted((a, b) => a.sequence - b.sequence).map(({ type }) => type)).toEqual([
      ...["client.created", "client.verified", "account.created", "transaction.created", "transaction.completed"],
      ...["trade.opened", "margin.call", "margin.recovered", "margin.call", "trade.closed", "stop.out"],
      "margin.recovered",
    ]);
  });

  it("brings the same events by the stream, with the same numbers and ids, and all others in their order", () => {
    const byNumber = arrivals.toSorted((a, b) => a.sequence - b.sequence);
    const delivered = streamed.filter(({ id }) => arrivals.some((arrival) => arrival.id === id));
    expect(delivered).toEqual(byNumber.map(({ sequence, type, id }) => ({ sequence, type, id })));
    expect(streamed.map(({ sequence }) => sequence)).toEqual(streamed.map((_, index) => index + 1));
  });

  it("takes the account to its margin call, back, and to its stop-out", () => {
    expect(moments.map(({ margin_status }) => margin_status)).toEqual([
      ...["normal", "normal", "normal", "normal", "margin_call", "margin_call", "normal", "margin_call", "normal"],
    ]);
    const last = moments.at(-1);
    expect([last?.used_margin, last?.margin_level, last?.balance === last?.equity]).toEqual(["0.00", null, true]);
    expect(Number(last?.balance)).toBeLessThan(500);
  });

  it("prints every request with its answer, and no secret", () => {
    const text = said.join("\n");
    expect(text.match(/^→ /gm)?.length).toBe(text.match(/^← 2\d\d$/gm)?.length);
    expect(text.match(/^⇠ webhook /gm)).toHaveLength(arrivals.length);
    expect(text.match(/^⇠ stream {2}/gm)).toHaveLength(arrivals.length);
    expect(text).not.toContain("whsec_");
  });

  it("ends with a table and a plot of the same moments", () => {
    expect(lifeTable(moments)).toHaveLength(moments.length + 2);
    const plot = lifePlot(moments, { call: 100, out: 50 });
    const columns = plot.at(-1)?.trim().split(/\s+/);
    expect(columns).toEqual([..."ABCDEFGHIJKLM"].slice(0, moments.length));
  });
});

describe("the picture", () => {
  const moment = (equity: string, balance: string, used_margin: string): DemoStep => {
    const others = { step: "s", price: "1", margin_level: null, margin_status: "normal", events: [] };
    return { equity, balance, used_margin, ...others };
  };

  it("sets each amount where the axis says it is", () => {
    const plot = lifePlot([moment("110.00", "110.00", "0.00"), moment("0.00", "110.00", "100.00")], {
      call: 100,
      out: 50,
    });
    expect(plot).toEqual([
      "    110.00 |  *     o",
      "    100.00 |      ------",
      "     90.00 |",
      "     80.00 |",
      "     70.00 |",
      "     60.00 |",
      "     50.00 |      ======",
      "     40.00 |",
      "     30.00 |",
      "     20.00 |",
      "     10.00 |",
      "      0.00 |        *",
      "              A     B",
    ]);
  });

  it("makes the columns of a table as wide as what is in them", () => {
    expect(tableOf(["a", "long"], [["wide", "b"]])).toEqual(["a     long", "----  ----", "wide  b"]);
  });
});
