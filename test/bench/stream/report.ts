import type { Receipt, StreamFigures, StreamOptions } from "./measure.ts";
import { tickLines } from "./ticks.ts";

const medianBoundMs = 500;
const replayBoundMs = 10_000;

/** Faults of the figures, in sentences. */
export function faultsOf({ lone, replay, crowd, stalled, faults }: StreamFigures): string[] {
  return [
    ...faults,
    ...(lone.p50 < medianBoundMs ? [] : [`one subscriber waited ${lone.p50} ms in the median`]),
    ...(replay.ms < replayBoundMs ? [] : [`a replay of ${replay.events} events took ${replay.ms} ms`]),
    ...(stalled.p99 < 2 * crowd.p99
      ? []
      : [`a reader that takes nothing made the p99 ${stalled.p99} ms from ${crowd.p99} ms`]),
  ];
}

/** The figures as a page. */
export function reportOf({ connections, rate, seconds }: StreamOptions, figures: StreamFigures): string {
  const { lone, replay, ticks, crowd, stalled, faults } = figures;
  const row = (name: string, { count, p50, p99 }: Receipt) => `| ${name} | ${count} | ${p50} | ${p99} |`;
  return `# The stream, from commit to receipt

Written by \`node infra/run.mjs test/bench/stream/run.ts\`:
the local service, the events and the connections share one machine.

| subscribers | receipts | p50 ms | p99 ms |
|---|---|---|---|
${row("one, an event at a time", lone)}
${row(`${connections} with ten subscriptions each, ${rate} events a second for ${seconds} s`, crowd)}
${row("the same, and one that takes nothing", stalled)}

A client that connects again gets the ${replay.events} events that it missed in ${(replay.ms / 1000).toFixed(1)} s.
With that one the p99 of the others is ${(stalled.p99 / crowd.p99).toFixed(2)} times that without it.

${tickLines(ticks)}

Faults, numbers that were missing or out of order among them: ${faults.length === 0 ? "none" : faults.join("; ")}.
`;
}
