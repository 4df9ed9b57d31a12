/** State of an account after one step of the demo. */
export interface DemoStep {
  readonly step: string;
  /** The price that was last set, or the quote. */
  readonly price: string;
  readonly balance: string;
  readonly equity: string;
  readonly used_margin: string;
  readonly margin_level: string | null;
  readonly margin_status: string;
  /** Kinds of the events of the step, by their numbers. */
  readonly events: readonly string[];
}

/** Lines of a table, its columns as wide as what is in them. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return [line(head), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)].map((text) =>
    text.trimEnd(),
  );
}

/** The life of an account as a table. */
export function lifeTable(moments: readonly DemoStep[]): string[] {
  const head = ["", "step", "price", "balance", "equity", "used margin", "level %", "state", "events"];
  const rows = moments.map((moment, index) => [
    letter(index),
    moment.step,
    moment.price,
    moment.balance,
    moment.equity,
    moment.used_margin,
    moment.margin_level ?? "-",
    moment.margin_status,
    moment.events.join(", "),
  ]);
  return tableOf(head, rows);
}

function letter(index: number): string {
  return String.fromCharCode("A".charCodeAt(0) + index);
}

const plotRows = 12;
const columnWidth = 6;
const axisWidth = 10;

/**
 * The life of an account as a plot: equity `*` and balance `o` in each column, one where they are the same, and the
 * equity at which the margin call `-` and the stop-out `=` come while there are positions.
 */
export function lifePlot(
  moments: readonly DemoStep[],
  levels: { readonly call: number; readonly out: number },
): string[] {
  const columns = moments.map(({ equity, balance, used_margin }) => ({
    equity: Number(equity),
    balance: Number(balance),
    call: (Number(used_margin) * levels.call) / 100,
    out: (Number(used_margin) * levels.out) / 100,
  }));
  const top = Math.max(1, ...columns.flatMap(({ equity, balance }) => [equity, balance]));
  const bottom = Math.min(0, ...columns.flatMap(({ equity, balance }) => [equity, balance]));
  const rowOf = (amount: number) => Math.round(((top - amount) / (top - bottom)) * (plotRows - 1));
  const grid = Array.from({ length: plotRows }, () => Array<string>(columns.length * columnWidth).fill(" "));
  const mark = (row: number, from: number, text: string) => {
    for (const [offset, sign] of [...text].entries()) {
      const cells = grid[row];
      if (cells !== undefined) cells[from + offset] = sign;
    }
  };
  for (const [index, { equity, balance, call, out }] of columns.entries()) {
    const from = index * columnWidth;
    if (call > 0) mark(rowOf(call), from, "-".repeat(columnWidth));
    if (out > 0) mark(rowOf(out), from, "=".repeat(columnWidth));
    mark(rowOf(balance), from + 2, "o");
    mark(rowOf(equity), from + 2, "*");
  }
  const amountAt = (row: number) => top - (row / (plotRows - 1)) * (top - bottom);
  const lines = grid.map((cells, row) => `${amountAt(row).toFixed(2).padStart(axisWidth)} |${cells.join("")}`);
  const letters = columns.map((_, index) => letter(index).padStart(3).padEnd(columnWidth)).join("");
  return [...lines.map((text) => text.trimEnd()), `${" ".repeat(axisWidth + 2)}${letters}`.trimEnd()];
}
