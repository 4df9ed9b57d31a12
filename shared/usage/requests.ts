import { type CallerUsage, UsageCount } from "../domain/usage/usage-count.ts";
import { hourOf, type UsageHour } from "../domain/usage/usage-day.ts";
import { limits } from "../limits.ts";
import { nowIso, nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { inParallel } from "../runtime/parallel.ts";
import { type CountedLine, countedLines } from "../runtime/request-log.ts";
import { type UsageProgress, usageDays, usageProgress } from "../table/entities.ts";
import { changeItem, putOnce } from "../table/items.ts";
import { findAll } from "../table/store.ts";
import { typeTag } from "../table/write.ts";
import { expiryOf } from "./expiry.ts";

const { hour_ms, settled_after_ms, repaired_within_ms, callers_at_once } = limits.usage;

/**
 * Counts the requests and the stream of each hour from the one that is not settled yet to the present one: reads its
 * lines, all of them each time, and stores the sums in the place of those of an earlier reading. So a run that dies,
 * comes twice or meets another one changes nothing but how recent the sums are. An hour is settled when it was read so
 * long after its end that all its lines were there. Returns how many hours were read.
 * @throws Error when the time was over before the first of them was
 */
export async function countRequests(hasTime: () => boolean): Promise<number> {
  let from_ms = Date.parse((await progress()).settled_until);
  let hours = 0;
  while (from_ms <= nowMs()) {
    const read_at = nowIso();
    const usage = await readHour(from_ms, hasTime);
    if (usage === undefined) break;
    await inParallel(callers_at_once, usage, (caller) => storeHour(caller, from_ms, read_at));
    hours += 1;
    const end_ms = from_ms + hour_ms;
    if (end_ms + settled_after_ms <= Date.parse(read_at) && !(await advanceProgress(from_ms, end_ms))) break;
    from_ms = end_ms;
  }
  if (hours === 0) throw new Error("The requests of one hour could not be read in the time of a run.");
  return hours;
}

/** How far the hours are settled. The first run begins with the hour before it. */
async function progress(): Promise<UsageProgress> {
  const [found] = await findAll<UsageProgress>(usageProgress, [usageProgress.keyOf()]);
  if (found !== undefined) return found;
  const first_ms = Math.floor(nowMs() / hour_ms - 1) * hour_ms;
  const begun = { settled_until: new Date(first_ms).toISOString() };
  return (await putOnce(usageProgress, begun)) ?? begun;
}

/** Usage of each caller in the hour that begins then; undefined when the time was over before its end. */
async function readHour(from_ms: number, hasTime: () => boolean): Promise<readonly CallerUsage[] | undefined> {
  const hour = { from_ms, to_ms: from_ms + hour_ms };
  const count = new UsageCount(hour);
  const addLines = async (about: readonly CountedLine[], within: typeof hour): Promise<boolean> => {
    for await (const lines of countedLines(env.requestLogGroup, about, within)) {
      for (const line of lines) count.add(line);
      if (!hasTime()) return false;
    }
    return true;
  };
  if (!(await addLines(["request", "stream", "connection"], hour))) return undefined;
  // The function that noted the end of a connection may have died before its line: who finds that out writes it later.
  const isOver = hour.to_ms <= nowMs();
  const later = { from_ms: hour.to_ms, to_ms: hour.to_ms + repaired_within_ms };
  if (isOver && !(await addLines(["connection"], later))) return undefined;
  return count.usage;
}

/** Stores an hour of a caller, unless a later reading of it is stored. */
async function storeHour(
  { tenant_id, actor_id, ...usage }: CallerUsage,
  from_ms: number,
  read_at: string,
): Promise<void> {
  const { day, hour } = hourOf(from_ms);
  const stored: UsageHour = { read_at, ...usage };
  await changeItem(
    usageDays.keyOf({ tenant_id, day, actor_id }),
    {
      set: { ...typeTag(usageDays.et), tenant_id, day, actor_id, [hour]: stored, expires_at: expiryOf(day) },
      when: [
        {
          any: [
            { attribute: hour, is: "absent" },
            { attribute: `${hour}.read_at`, is: "at_most", value: read_at },
          ],
        },
      ],
    },
    "again",
  );
}

/** Moves the progress over an hour; false when another run has moved it. */
function advanceProgress(from_ms: number, to_ms: number): Promise<boolean> {
  const [from, to] = [from_ms, to_ms].map((moment) => new Date(moment).toISOString());
  return changeItem(usageProgress.keyOf(), {
    set: { settled_until: to },
    when: [{ attribute: "settled_until", is: "equal", value: from }],
  });
}
