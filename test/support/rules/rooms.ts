import { posix } from "node:path";
import { importsOf } from "./architecture-layers.ts";
import type { SourceFile } from "./source-file.ts";

/** Imports of each file by the file that is imported, with the names that it takes from there. */
type Graph = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** The rooms of the domain, the lowest first: a room is a folder of the first level. */
const rooms = [
  ...["kernel", "records", "access", "accounts", "money", "trading", "feed"],
  ...["webhooks", "audit", "books", "sums", "stream", "usage", "sandbox", "restore", "jobs"],
];

const mostRising = 5;

/** Rooms that import one above them, each with its reason. There are at most five. */
const rising: Readonly<Record<string, string>> = {
  "access -> money": "The handover of an operator lists the transactions that wait for their approval.",
  "money -> trading": "A transfer between currencies is converted at the prices of the market.",
  "money -> feed": "Money on an account of a trading platform is moved by a command to that platform.",
  "trading -> feed": "A stop-out of an account of a trading platform is requested by a command to that platform.",
};

function graphOf(files: readonly SourceFile[]): Graph {
  const paths = new Set(files.map(({ path }) => path));
  return new Map(
    files.map((file) => {
      const targets = new Map<string, string>();
      for (const { target, names } of importsOf(file)) {
        if (paths.has(target)) targets.set(target, [targets.get(target), names].filter(Boolean).join(", "));
      }
      return [file.path, targets];
    }),
  );
}

/** Sets of files that lead to each other (Tarjan). */
function circlesIn(graph: Graph): string[][] {
  const number = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (path: string): number => {
    number.set(path, number.size);
    let low = number.get(path) ?? 0;
    open.push(path);
    for (const target of graph.get(path)?.keys() ?? []) {
      if (!number.has(target)) low = Math.min(low, visit(target));
      else if (open.includes(target)) low = Math.min(low, number.get(target) ?? 0);
    }
    lowest.set(path, low);
    if (low === number.get(path)) circles.push(open.splice(open.indexOf(path)));
    return low;
  };
  for (const path of graph.keys()) if (!number.has(path)) visit(path);
  return circles.filter(({ length }) => length > 1);
}

/** Circles of imports over two folders, types included, each with the names that tie it. */
export function circlesOverFolders(files: readonly SourceFile[]): string[] {
  const graph = graphOf(files);
  return circlesIn(graph)
    .filter((circle) => new Set(circle.map((path) => posix.dirname(path))).size > 1)
    .map((circle) =>
      circle
        .toSorted()
        .flatMap((path) =>
          [...(graph.get(path) ?? [])]
            .filter(([target]) => circle.includes(target))
            .map(([target, names]) => `${path} takes ${names} from ${target}`),
        )
        .join("\n"),
    );
}

/** Faults of the imports between rooms of the domain: arrows to a room above without a reason, and idle reasons. */
export function faultsOfRooms(files: readonly SourceFile[], reasons = rising): string[] {
  const roomOf = (path: string) => /^shared\/domain\/(.+?)(?:\/|$)/.exec(path)?.[1];
  const found = new Set<string>();
  const faults: string[] = [];
  for (const [path, targets] of graphOf(files)) {
    const from = roomOf(path);
    if (from === undefined) continue;
    if (!rooms.includes(from)) faults.push(`${path} is in no room`);
    for (const [target, names] of targets) {
      const to = roomOf(target);
      if (to === undefined || rooms.indexOf(to) <= rooms.indexOf(from)) continue;
      const arrow = `${from} -> ${to}`;
      found.add(arrow);
      if (reasons[arrow] === undefined) faults.push(`${path} takes ${names} from ${target}, which is in a room above`);
    }
  }
  const named = Object.keys(reasons);
  const idle = named.filter((arrow) => !found.has(arrow)).map((arrow) => `${arrow} has a reason and no import`);
  const many = named.length > mostRising ? [`${named.length} arrows lead up, more than ${mostRising}`] : [];
  return [...faults, ...idle, ...many];
}
