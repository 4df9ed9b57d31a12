import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Journal } from "../../infra/bridge/journal.ts";
import type { VenueEvent } from "../../infra/bridge/venue.ts";

const folder = mkdtempSync(join(tmpdir(), "brokerage-names-"));
const opened: Journal[] = [];
afterAll(async () => {
  for (const journal of opened) await journal.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("a deal that the venue reports as an execution and as a trade capture", () => {
  const deal = { platform_login: "50012345", symbol: "EURUSD", side: "buy", lots: "0.10", price: "1.1" } as const;
  const report = (
    deal_id: string,
    form: "execution" | "capture",
    ids = ["880=M-1"],
    day = "2026-11-23",
  ): VenueEvent => {
    const at = day === "" ? undefined : `${day}T09:00:00Z`;
    return { kind: "fill", fill: { ...deal, deal_id, at, trade: { form, ids } } };
  };
  const open = async (path: string) => {
    const journal = await Journal.open(path, { id: "src_1", expected_next_seq: "1" });
    opened.push(journal);
    return journal;
  };
  const [e1, e2] = [report("E-1", "execution"), report("E-2", "execution")];
  const [t1, t2] = [report("T-1", "capture"), report("T-2", "capture")];

  it.each<[string, VenueEvent[], string[]]>([
    ["is one, whichever comes first", [e1, t1, t1, e1], ["E-1"]],
    ["is one, also with the trade capture first", [t1, e1, e1, t1], ["T-1"]],
    [
      "is one by TradeReportID",
      [report("E-1", "execution", ["571=T-1"]), report("T-1", "capture", ["571=T-1"])],
      ["E-1"],
    ],
    ["is one when a report lacks its day", [e1, report("T-1", "capture", ["880=M-1"], "")], ["E-1"]],
    ["is one when the first lacks its day", [report("T-1", "capture", ["880=M-1"], ""), e1], ["T-1"]],
    ["is another on another day", [e1, report("T-1", "capture", ["880=M-1"], "2026-11-24")], ["E-1", "T-1"]],
    ["is another with another id", [e1, report("T-1", "capture", ["880=M-2"])], ["E-1", "T-1"]],
    ["is two when two are equal: all executions first", [e1, e2, t1, t2], ["E-1", "E-2"]],
    ["is two when two are equal: in turns", [t1, e1, e2, t2], ["T-1", "E-2"]],
    ["is two when two are equal: all captures first", [t1, t2, e1, e2, t1, e2], ["T-1", "T-2"]],
  ])("%s", async (_, events, expected) => {
    const path = join(folder, `log-${opened.length}`);
    // A crash after each of them changes nothing.
    for (const event of events) await (await open(path)).record([event]);
    const journal = await open(path);
    expect(journal.unsent(100).items.map(({ data }) => data["deal_id"])).toEqual(expected);
  });
});
