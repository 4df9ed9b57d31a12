import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** One line of a table: what was run, and its figures as they are printed. */
export type Row = readonly [label: string, ...figures: string[]];

/** A table of the report with the sentence above it. */
export interface Table {
  readonly title: string;
  readonly text: string;
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
}

const file = fileURLToPath(new URL("../SCALE.md", import.meta.url));

const introduction = `# What the event pipeline does under load: a model

Written by \`npm run scale\`. **These are figures of a model, not measurements of AWS.** The functions are those that
ship: router, publisher, fan-out, deliverer and sweep run unchanged. The clock, DynamoDB, its streams, SQS and
Lambda's event source mappings are modelled in virtual time (test/support/model), with the times and limits that
test/support/model/timings.ts states, each with its source. Each instance of a function has its own modules, memory
and share of a processor. The same seed gives the same figures on every machine.

What the model leaves out, so that AWS can be worse or better: partitions that were not split for heat yet (each
partition key has a partition of its own here), lost answers, failures of AWS, the growth of Lambda's pollers, and
processor time other than 1.1 ms of a whole processor for each call of the SDK.

Each section is one version of the publisher; \`npm run scale -- --name <words>\` writes its own and keeps the others.
`;

function sectionOf(name: string, tables: readonly Table[], facts: string): string {
  const lines = [`## ${name}`, "", facts];
  for (const { title, text, columns, rows } of tables) {
    lines.push("", `### ${title}`, "", text, "", `| ${columns.join(" | ")} |`);
    lines.push(`| ${columns.map((_, at) => (at === 0 ? "---" : "---:")).join(" | ")} |`);
    for (const row of rows) lines.push(`| ${row.join(" | ")} |`);
  }
  return `${lines.join("\n")}\n`;
}

/** Writes the section of a version into SCALE.md, and keeps the sections of others. Returns the path. */
export function writeSection(name: string, tables: readonly Table[], facts: string): string {
  const [, ...sections] = existsSync(file) ? readFileSync(file, "utf8").split(/^(?=## )/m) : [];
  const others = sections.filter((section) => !section.startsWith(`## ${name}\n`)).map((section) => section.trimEnd());
  const own = sectionOf(name, tables, facts).trimEnd();
  writeFileSync(file, `${[introduction.trimEnd(), ...others, own].join("\n\n")}\n`);
  return file;
}

/** A table for a terminal: columns as wide as their widest figure. */
export function inColumns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => (row[at] ?? "").length))) ?? [];
  return rows.map((row) => row.map((cell, at) => cell.padStart(widths[at] ?? 0)).join("  ")).join("\n");
}
