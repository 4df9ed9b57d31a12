import { expect, it } from "vitest";
import type { Snapshot } from "../../../shared/domain/feed/drift/snapshot.ts";
import type { FeedReject } from "../../../shared/domain/records/feed-item.ts";
import { feedRejects, snapshots } from "../../../shared/table/entities.ts";
import { bridge } from "../../support/builders/bridge.ts";
import { putItems, writeOf } from "../../support/builders/trading-data.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { newCaller } from "../../support/emulator/request.ts";

const api = await startJudgedApi();
const caller = newCaller();
const { newSource } = bridge(api, caller);

/** More than one request examines: three reads of 250 entries. */
const count = 900;
// The moments are in another order than the numbers, which the lists are sorted by.
const moment = (at: number) => new Date(Date.UTC(2026, 10, 1) + ((at * 7) % count) * 60_000).toISOString();
const range = `created_from=${moment(300)}&created_to=${encodeURIComponent("2026-11-01T13:00:00+01:00")}`;
const within = [...Array(count).keys()].filter(
  (at) => moment(at) >= moment(300) && moment(at) < "2026-11-01T12:00:00.000Z",
);

/** The names on the pages of a list, and how many each page has. */
async function walk(address: string, nameOf: (item: Record<string, string>) => string | undefined) {
  const [names, sizes]: [(string | undefined)[], number[]] = [[], []];
  for (let at: string | undefined = address; at !== undefined; ) {
    const { status, text, body } = await api.call(caller, "GET", at);
    expect([at, status, text]).toEqual([at, 200, text]);
    expect(body.page.has_more).toBe(body._links.next !== undefined);
    names.push(...body.data.map(nameOf));
    sizes.push(body.data.length);
    at = body._links.next?.href.split("/v2")[1];
  }
  return { names, sizes };
}

it("rejects are listed within a range of their creation, over pages that may be short", async () => {
  const { id: source_id, path } = await newSource();
  const rejects = [...Array(count).keys()].map(
    (at): FeedReject => ({
      // Every other one is the second at its number.
      ...{
        id: at % 2 === 0 ? String(at) : `${at}.0a1b2c3d4e5f6a7b`,
        seq: String(at),
        tenant_id: caller.tenant_id,
        source_id,
        status: "open",
        tries: 1,
      },
      ...{ item: "{}", code: "unknown_account", detail: "No such account.", errors: [], version: 1 },
      ...{ created_at: moment(at), updated_at: moment(at) },
    }),
  );
  await putItems(
    api,
    rejects.map((reject) => writeOf(api, feedRejects, reject)),
  );
  const found = await walk(`${path}/rejects?limit=100&${range}`, ({ seq }) => seq);
  expect(found.names).toEqual(within.map(String));
  expect(Math.min(...found.sizes)).toBeLessThan(100);
  expect((await walk(`${path}/rejects?limit=100&${range}&status=resolved`, ({ seq }) => seq)).names).toEqual([]);
});

it("snapshots are listed within a range of their creation, whichever way they are sorted", async () => {
  const { id: source_id, path } = await newSource();
  const taken = [...Array(count).keys()].map(
    (at): Snapshot => ({
      ...{ tenant_id: caller.tenant_id, source_id, snapshot_id: `S-${at}`, as_of_seq: String(at), taken_at: moment(0) },
      ...{ complete: false, parts: 1, created_at: moment(at), expires_at: 4_000_000_000 },
    }),
  );
  await putItems(
    api,
    taken.map((snapshot) => writeOf(api, snapshots, snapshot)),
  );
  const names = within.map((at) => `S-${at}`);
  for (const [sort, wanted] of [
    ["as_of_seq", names],
    ["-as_of_seq", names.toReversed()],
  ] as const) {
    const found = await walk(`${path}/snapshots?limit=100&sort=${sort}&${range}`, ({ snapshot_id }) => snapshot_id);
    expect(found.names).toEqual(wanted);
  }
});
