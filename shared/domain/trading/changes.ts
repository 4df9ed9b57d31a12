import type { Position } from "../records/position.ts";
import type { PositionChange } from "../records/trading-change.ts";

/**
 * The changes from the positions before a decision to those after it, oldest first, each once. A position whose version
 * is the same has not changed.
 */
export function positionChanges(before: readonly Position[], after: readonly Position[]): PositionChange[] {
  const known = new Map(before.map((position) => [position.id, position]));
  const left = new Set(after.map(({ id }) => id));
  const removed = before.filter(({ id }) => !left.has(id));
  return [
    ...removed.map((position) => ({ op: "remove", entity: "position", before: position }) as const),
    ...after.flatMap((position): PositionChange[] => {
      const old = known.get(position.id);
      if (old === undefined) return [{ op: "create", entity: "position", item: position }];
      return old.version === position.version
        ? []
        : [{ op: "update", entity: "position", before: old, after: position }];
    }),
  ];
}
