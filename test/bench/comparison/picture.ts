import { type Compared, type Contestant, contestants } from "./bundles.ts";
import type { Comparison, Figures } from "./figures.ts";

const size = { width: 1080, column: 528, left: 232, bar: 164, row: 19, top: 92, panel: 150 };
const colour = { ours: "#b4451f", published: "#d98c5f", peer: "#2f6690", text: "#1f2430", soft: "#5b6270" };
const all = Object.keys(contestants) as Contestant[];

/** A measure of the picture, as a ratio to this service: the lowest, the middle and the highest of the rounds. */
interface Panel {
  readonly title: string;
  readonly shown: (figures: Figures) => string;
  readonly of: (
    figures: Figures,
    ours: Figures,
  ) => { readonly lowest: number; readonly median: number; readonly highest: number };
}

const panels: readonly Panel[] = [
  {
    title: "Bundle after gzip",
    shown: ({ gzipped }) => `${gzipped.toFixed(0)} KiB`,
    of: ({ gzipped }, ours) => {
      const ratio = gzipped / ours.gzipped;
      return { lowest: ratio, median: ratio, highest: ratio };
    },
  },
  {
    title: "Start of an environment, processor time",
    shown: ({ init_ms }) => ms(init_ms.ms),
    of: ({ init_ms }) => init_ms,
  },
  { title: "First request, processor time", shown: ({ first_ms }) => ms(first_ms.ms), of: ({ first_ms }) => first_ms },
  { title: "Warm request, processor time", shown: ({ warm_ms }) => ms(warm_ms.ms), of: ({ warm_ms }) => warm_ms },
];

const columns: Readonly<Record<Compared, string>> = {
  "get-client": "GET /clients/{id}",
  "create-client": "POST /clients",
};

/** The comparison as SVG: for both requests each measure as bars, as ratios with the range of the rounds. */
export function comparisonPicture(comparison: Comparison, note: string): string {
  const height = size.top + panels.length * size.panel + 10;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${height}" width="${size.width}"`,
    `  height="${height}" font-family="Helvetica, Arial, sans-serif" font-size="13">`,
    "<title>The service compared with frameworks</title>",
    `<rect width="${size.width}" height="${height}" fill="#fff"/>`,
    text(24, 34, "The same request by this service and by frameworks, less is better", { size: 22, weight: 700 }),
    text(24, 56, note, { fill: colour.soft }),
    ...(Object.keys(columns) as Compared[]).flatMap((name, column) => [
      text(24 + column * size.column, size.top - 8, columns[name], { size: 16, weight: 700 }),
      ...panels.flatMap((panel, at) => panelOf(panel, comparison[name], column, at)),
    ]),
    "</svg>",
  ].join("\n")}\n`;
}

function panelOf(panel: Panel, by: Comparison[Compared], column: number, at: number): string[] {
  const x = 24 + column * size.column;
  const y = size.top + at * size.panel + 14;
  const ratios = all.map((contestant) => panel.of(by[contestant], by.ours));
  const most = Math.max(...ratios.map(({ highest }) => highest));
  const widthOf = (ratio: number) => (ratio / most) * size.bar;
  return [
    text(x, y + 4, panel.title, { weight: 700, fill: colour.soft }),
    ...all.flatMap((contestant, place) => {
      const { lowest, median, highest } = ratios[place] ?? { lowest: 1, median: 1, highest: 1 };
      const top = y + 12 + place * size.row;
      const start = x + size.left - 24;
      const middle = round(top + 7);
      const range = `<line x1="${round(start + widthOf(lowest))}" x2="${round(start + widthOf(highest))}"`;
      const label = contestant === "ours" ? "1" : `${median.toFixed(1)} ×`;
      return [
        text(start - 8, top + 12, contestants[contestant], { anchor: "end" }),
        `<rect x="${start}" y="${top}" width="${round(widthOf(median))}" height="14" fill="${fillOf(contestant)}"/>`,
        ...(highest > lowest ? [`${range} y1="${middle}" y2="${middle}" stroke="${colour.text}"/>`] : []),
        text(start + widthOf(highest) + 6, top + 12, `${label}  (${panel.shown(by[contestant])})`),
      ];
    }),
  ];
}

function fillOf(contestant: Contestant): string {
  return contestant === "ours" || contestant === "published" ? colour[contestant] : colour.peer;
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}

interface Style {
  readonly size?: number;
  readonly weight?: number;
  readonly fill?: string;
  readonly anchor?: string;
}

function text(x: number, y: number, words: string, style: Style = {}): string {
  const { size: points = 13, weight = 400, fill = colour.text, anchor = "start" } = style;
  const look = `font-size="${points}" font-weight="${weight}" fill="${fill}" text-anchor="${anchor}"`;
  const safe = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${round(x)}" y="${round(y)}" ${look}>${safe}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
