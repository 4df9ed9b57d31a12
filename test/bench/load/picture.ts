/** Latency at one rate. */
export interface Point {
  /** Requests a second of all applications together. */
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
}

const size = { width: 640, height: 320, left: 60, right: 20, top: 30, bottom: 45 };

/** The next number of 1, 2 or 5 times a power of ten, at which an axis ends. */
export function endOfAxis(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1e-9)));
  return [1, 2, 5, 10].map((step) => step * power).find((end) => end >= most) ?? most;
}

/** A picture of latency against rate as SVG: the middle and the 99th percentile. */
export function latencyPicture(points: readonly Point[], caption: string): string {
  const sorted = points.toSorted((one, other) => one.rate - other.rate);
  const [endX, endY] = [endOfAxis(Math.max(...sorted.map(({ rate }) => rate))), highest(sorted)];
  const { width, height, left, right, top, bottom } = size;
  const x = (rate: number) => left + (rate / endX) * (width - left - right);
  const y = (ms: number) => height - bottom - (ms / endY) * (height - top - bottom);
  const parts = [0, 0.25, 0.5, 0.75, 1];
  const grid = parts.flatMap((part) => [
    `<line x1="${left}" y1="${y(part * endY)}" x2="${width - right}" y2="${y(part * endY)}" stroke="#ddd"/>`,
    text(left - 8, y(part * endY) + 4, `${round(part * endY)}`, "end"),
    text(x(part * endX), height - bottom + 18, `${round(part * endX)}`, "middle"),
  ]);
  const curve = (value: (point: Point) => number, colour: string, name: string) => {
    const places = sorted.map((point) => `${round(x(point.rate))},${round(y(value(point)))}`);
    const last = sorted.at(-1);
    return [
      `<polyline points="${places.join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...places.map(
        (place) => `<circle cx="${place.split(",")[0]}" cy="${place.split(",")[1]}" r="3" fill="${colour}"/>`,
      ),
      ...(last === undefined ? [] : [text(x(last.rate) - 6, y(value(last)) - 8, name, "end", colour)]),
    ];
  };
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<title>${safe(caption)}</title>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text(width / 2, 18, caption, "middle"),
    ...grid,
    text(width / 2, height - 8, "requests a second", "middle"),
    text(12, top - 8, "ms", "start"),
    ...curve(({ p99 }) => p99, "#c0392b", "p99"),
    ...curve(({ p50 }) => p50, "#2471a3", "p50"),
    "</svg>",
  ].join("\n")}\n`;
}

function highest(points: readonly Point[]): number {
  return endOfAxis(Math.max(...points.map(({ p99 }) => p99)));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function text(x: number, y: number, words: string, anchor: string, colour = "#333"): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" fill="${colour}">${safe(words)}</text>`;
}

function safe(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
