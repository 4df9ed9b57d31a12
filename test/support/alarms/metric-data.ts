/** A metric as CloudWatch knows it. */
export interface Metric {
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
}

/** Minutes of a slot: metric data is stated slot by slot. */
export const minutesOfSlot = 5;

/** Measured values of a metric in a slot; empty without any. */
export type MetricData = (metric: Metric, slot: number) => readonly number[];

/** The value of a statistic over samples; undefined without any, where CloudWatch has no data point. */
export function statistic(name: string, samples: readonly number[]): number | undefined {
  if (samples.length === 0) return undefined;
  const sum = samples.reduce((one, other) => one + other, 0);
  const percentile = /^p(\d+)$/.exec(name)?.[1];
  if (percentile !== undefined) {
    const rank = Math.ceil((Number(percentile) / 100) * samples.length);
    return samples.toSorted((one, other) => one - other)[rank - 1];
  }
  switch (name) {
    case "Sum":
      return sum;
    case "Average":
      return sum / samples.length;
    case "Maximum":
      return Math.max(...samples);
    case "SampleCount":
      return samples.length;
    default:
      throw new Error(`The statistic ${name} is not known here.`);
  }
}
