import { readFile } from "node:fs/promises";

/** Processor time of each route in milliseconds of a whole processor, as test/bench/LATENCY.md has it. */
export async function processorTimes(): Promise<ReadonlyMap<string, number>> {
  const text = await readFile(new URL("../LATENCY.md", import.meta.url), "utf8");
  const rows = text.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  const place = rows.find((cells) => cells[1] === "route")?.indexOf("processor ms") ?? -1;
  const times = rows.map((cells) => [cells[1] ?? "", Number(cells[place])] as const);
  return new Map(times.filter(([, ms]) => Number.isFinite(ms)));
}
