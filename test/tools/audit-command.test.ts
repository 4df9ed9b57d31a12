import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { daysAfter } from "../../shared/calendar.ts";
import { type ExportedDay, exportedDays, firstDay, objectsOf } from "../support/builders/audit-export.ts";
import { startCommandProcess } from "../support/command-process.ts";

const commands = startCommandProcess(fileURLToPath(new URL("../../", import.meta.url)));
const command = fileURLToPath(new URL("../../infra/tools/audit/run.ts", import.meta.url));
afterAll(() => commands.stop());
const folder = mkdtempSync(join(tmpdir(), "brokerage-audit-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const [one, two, three] = ["0", "1", "2"].map((end) => `brk_01JD000000000000000000000${end}`) as [
  string,
  string,
  string,
];
const [days, others] = [exportedDays([2, 1]), exportedDays([1, 3], "other")];
const until = daysAfter(firstDay, 1);
const headOf = (own: readonly ExportedDay[], at: number) => own.at(at)?.head.hash ?? "";

for (const [key, content] of [...objectsOf(one, days, days, 2), ...objectsOf(two, others, others, 2)]) {
  mkdirSync(dirname(join(folder, key)), { recursive: true });
  writeFileSync(join(folder, key), content);
}

/** Runs `npm run audit -- verify` on the copy, and returns its exit code and the first word about each brokerage. */
async function verify(...words: string[]) {
  const { code, stdout, stderr } = await commands.run(command, ["verify", "--dir", folder, ...words], process.env);
  const found: string[] = stdout.match(/^\w+ {2}(?:brk_\w+|no day in order[^\n]*)/gm) ?? [];
  return { code, found, text: stdout + stderr };
}

it("calls a brokerage linked unless its last day ends with a head that was given", async () => {
  const none = await verify("--until", until);
  expect(none).toMatchObject({ code: 0, found: [`linked  ${one}`, `linked  ${two}`] });
  expect(none.text).toContain("no head was given to compare with");
  expect(none.text).toContain("\nNOT CHECKED  versions: a copy holds one version of each object\n");
  const named = ["--head", `${one}=${headOf(days, -1)}`, "--head", `${two}=${headOf(others, 0)}`];
  const both = await verify("--until", until, ...named);
  expect(both).toMatchObject({ code: 0, found: [`intact  ${one}`, `linked  ${two}`] });
  expect(both.text).toContain(`a head was given up to ${firstDay}`);
  expect(await verify("--until", until, "--brokerage", two, "--head", headOf(others, -1))).toMatchObject({
    code: 0,
    found: [`intact  ${two}`],
  });
});

it("finds a head that no day of its brokerage has, and a brokerage that is gone", async () => {
  const swapped = await verify("--until", until, "--head", `${one}=${headOf(others, -1)}`);
  expect(swapped).toMatchObject({ code: 2, found: [`linked  ${one}`, `linked  ${two}`, expect.any(String)] });
  expect(swapped.found[2]).toBe(`BROKEN  no day in order of ${one} ends with the head ${headOf(others, -1)}`);
  const gone = await verify("--until", until, "--brokerage", three, "--brokerage", one);
  expect(gone).toMatchObject({ code: 2, found: [`linked  ${one}`, `BROKEN  ${three}`] });
});

it("misses the days that must be sealed by now, unless an older copy is checked", async () => {
  expect(await verify()).toMatchObject({ code: 2, found: [`BROKEN  ${one}`, `BROKEN  ${two}`] });
  expect(await verify("--until", daysAfter(until, 1))).toMatchObject({ code: 2 });
});
