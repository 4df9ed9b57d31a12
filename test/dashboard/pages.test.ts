import { describe, expect, it } from "vitest";
import { roleScopes, roleWords, scopeGroups } from "../../infra/dashboard/app/pages/control/scopes.ts";
import { isSameName } from "../../infra/dashboard/app/pages/money/holder.ts";
import { lookOf } from "../../infra/dashboard/app/parts/states.ts";

import { currentEntry, mayOpen, navigation, openTo } from "../../infra/dashboard/app/shell/navigation.ts";
import { overBudget, routeSizes, scriptBudget } from "../../infra/dashboard/sizes.ts";
import { type Role, roles, scopesOf } from "../../shared/roles.ts";
import { scopes } from "../../shared/schema/scope.ts";

describe("the sidebar", () => {
  it("shows what the role may open, and the sandbox in the sandbox alone", () => {
    const names = (role: Role, environment: string) =>
      openTo(scopesOf(role, "production"), environment).flatMap(({ entries }) => entries.map(({ name }) => name));
    expect(names("finance", "sandbox")).toEqual([
      ...["Home", "Approvals", "Margin watch", "Clients", "Accounts", "Transactions", "Reports", "Exports"],
      ...["Symbols and quotes", "Exposure", "Feeds", "Events", "Usage", "Settings"],
    ]);
    expect(names("compliance", "production")).toEqual([
      ...["Home", "Compliance", "Margin watch", "Clients", "Accounts", "Transactions", "Events", "Audit log"],
      "Settings",
    ]);
    expect(names("owner", "production")).not.toContain("Sandbox");
    expect(names("owner", "sandbox")).toHaveLength(navigation.flatMap(({ entries }) => entries).length);
  });

  it("has a key of its own for every page", () => {
    const keys = navigation.flatMap(({ entries }) => entries.map(({ key }) => key));
    expect(new Set(keys).size).toBe(keys.length);
  });

  it.each([
    ["/", "/"],
    ["/settings/api/app_1", "/settings/api"],
    ["/settings", "/settings"],
    ["/webhooks/whe_1", "/webhooks"],
    ["/unknown", "/"],
  ])("marks for %s the entry %s", (path, entry) => expect(currentEntry(path)).toBe(entry));
});

describe("a link", () => {
  it.each([
    ["/clients/cli_1?tab=trades", "support", true],
    ["/approvals", "support", false],
    ["/deliveries/dlv_1", "developer", true],
    ["/deliveries/dlv_1", "finance", false],
    ["/audit?actor=opr_1", "compliance", true],
    ["/settings/api/app_1", "viewer", false],
    ["/", "risk", true],
  ] as const)("to %s is offered to %s: %s", (address, role, offered) => {
    expect(mayOpen(address, scopesOf(role, "production"))).toBe(offered);
  });
});

describe("a holder", () => {
  it.each([
    ["Ana Silva", "SILVA, Ana", true],
    ["Jürgen Böhm", "jurgen bohm", true],
    ["Nguyễn Thị Hạnh", "NGUYEN THI HANH", true],
    ["Ana Silva", "Ana Maria Silva", false],
    ["Ana Silva", "Ana Silv", false],
    ["محمد علي", "علي محمد", true],
    ["", "", false],
  ])("of the name %s is %s: %s", (one, other, same) => expect(isSameName(one, other)).toBe(same));
});

describe("the choice of scopes", () => {
  it("offers every scope of the API once", () => {
    const offered = scopeGroups.flatMap((group) => group.scopes.map(([scope]) => scope));
    expect(offered.toSorted()).toEqual(scopes.toSorted());
  });

  it.each(roles)("shows for %s what the role may do", (role) => {
    for (const environment of ["production", "sandbox"] as const) {
      expect(roleScopes(role, environment).toSorted()).toEqual(scopesOf(role, environment).toSorted());
    }
    expect(roleWords.map(([one]) => one)).toContain(role);
  });
});

describe("states", () => {
  it("that need a person are loud, and an unknown one is quiet", () => {
    expect(lookOf("stop_out")).toEqual({ shape: "octagon", tone: "bad" });
    expect(lookOf("margin_call")).toEqual({ shape: "triangle", tone: "warn" });
    expect(lookOf("of_a_later_version")).toEqual({ shape: "ring", tone: "text-3" });
  });
});

describe("the script of a route", () => {
  const of = (imports: string[], entryPoint?: string) => ({
    imports: imports.map((path) => ({ path, kind: "import-statement" })),
    entryPoint,
  });
  const files = new Map([
    ["main.js", of(["shared.js"], "app/main.tsx")],
    ["home.js", of(["shared.js"], "app/pages/home.tsx")],
    ["clients.js", of(["shared.js", "table.js"], "app/pages/customers/clients.tsx")],
    ["shared.js", of([])],
    ["table.js", of([])],
  ]);
  // Bytes that cannot be compressed, so that the sizes add up.
  const noise = (bytes: number) => Uint8Array.from({ length: bytes }, (_, at) => (at * 2_654_435_761) >>> 13);

  it("counts what a further route loads in addition to the first", () => {
    const sizes = routeSizes(files, (path) => noise(path === "table.js" ? 1000 : 10));
    expect(sizes.map(({ route }) => route)).toEqual(["first route", "clients"]);
    expect(sizes[0]?.bytes).toBeLessThan(200);
    expect(sizes[1]?.bytes).toBeGreaterThan(300);
  });

  it("over its budget is named", () => {
    const first = { route: "first route", bytes: scriptBudget.first_kib * 1024 };
    const further = { route: "clients", bytes: scriptBudget.further_kib * 1024 };
    expect(overBudget([first, further])).toEqual([]);
    expect(overBudget([first, { ...further, bytes: further.bytes + 1 }])).toEqual([expect.stringContaining("clients")]);
    expect(overBudget([{ ...first, bytes: first.bytes + 1 }])).toEqual([expect.stringContaining("first route")]);
  });
});
