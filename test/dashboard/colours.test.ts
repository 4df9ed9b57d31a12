import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const css = readFileSync(new URL("../../infra/dashboard/app/theme/roles.css", import.meta.url), "utf8");

/** The colours of a rule by their names. */
function rolesOf(selector: string): Map<string, string> {
  const [, body = ""] = css.split(`\n${selector} {`)[1]?.match(/^([^}]*)\}/) ?? [];
  return new Map([...body.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name = "", value = ""]) => [name, value]));
}

/** Relative luminance (WCAG 2.2). */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

const grounds = ["surface", "canvas", "sunken", "raised", "selected"];

/** The grounds that a role stands on, and the contrast that it needs there. */
const needed: readonly (readonly [role: string, grounds: readonly string[], ratio: number])[] = [
  ["text", [...grounds, "warn-ground", "bad-ground"], 4.5],
  ["text-2", [...grounds, "warn-ground", "bad-ground"], 4.5],
  ["text-3", grounds, 4.5],
  ["accent", grounds, 4.5],
  ["ok", grounds, 4.5],
  ["warn", [...grounds, "warn-ground"], 4.5],
  ["bad", [...grounds, "bad-ground"], 4.5],
  ["primary-text", ["primary"], 4.5],
  ["input-edge", ["surface", "raised"], 3],
];

describe.each([
  ["light", ":root"],
  ["dark", ':root[data-mantine-color-scheme="dark"]'],
])("the %s theme", (_, selector) => {
  const roles = rolesOf(selector);

  it.each(needed)("shows %s on each of its grounds with enough contrast", (role, on, ratio) => {
    const low = on.filter((ground) => contrast(roles.get(role) ?? "", roles.get(ground) ?? "") < ratio);
    expect(low).toEqual([]);
  });

  it("has every role", () => {
    expect([...roles.keys()]).toEqual([...rolesOf(":root").keys()]);
    expect(roles.size).toBe(19);
  });
});

it("a grey that is too light is found", () => {
  expect(contrast("#8f96a3", "#ffffff")).toBeLessThan(4.5);
  expect(contrast("#000000", "#ffffff")).toBe(21);
});
