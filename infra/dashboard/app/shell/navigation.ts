import type { IconName } from "../parts/icon-paths.ts";

/** An entry of the sidebar. A person sees it who holds one of its scopes. */
export interface Entry {
  readonly to: string;
  readonly name: string;
  readonly icon: IconName;
  readonly scopes: readonly string[];
  /** The key after `g`. */
  readonly key: string;
  readonly nested?: boolean;
  readonly counter?: "approvals" | "identities" | "margin";
  /** Only where prices and money are simulated. */
  readonly sandbox?: boolean;
}

/** A group of entries with its heading. */
export interface Group {
  readonly name: string | undefined;
  readonly entries: readonly Entry[];
}

/** The sidebar, from top to bottom. */
export const navigation: readonly Group[] = [
  {
    name: undefined,
    entries: [
      { to: "/", name: "Home", icon: "home", scopes: [], key: "h" },
      {
        to: "/approvals",
        name: "Approvals",
        icon: "inbox",
        scopes: ["transactions:approve"],
        key: "q",
        counter: "approvals",
      },
      {
        to: "/compliance",
        name: "Compliance",
        icon: "check",
        scopes: ["clients:verify"],
        key: "v",
        counter: "identities",
      },
      {
        to: "/margin-watch",
        name: "Margin watch",
        icon: "gauge",
        scopes: ["accounts:read"],
        key: "m",
        counter: "margin",
      },
    ],
  },
  {
    name: "Customers",
    entries: [
      { to: "/clients", name: "Clients", icon: "people", scopes: ["clients:read"], key: "c" },
      { to: "/accounts", name: "Accounts", icon: "wallet", scopes: ["accounts:read"], key: "a" },
      { to: "/transactions", name: "Transactions", icon: "arrows", scopes: ["transactions:read"], key: "t" },
    ],
  },
  {
    name: "Finance",
    entries: [
      { to: "/reports", name: "Reports", icon: "report", scopes: ["reports:read"], key: "r" },
      { to: "/exports", name: "Exports", icon: "save", scopes: ["reports:read"], key: "d" },
    ],
  },
  {
    name: "Trading",
    entries: [
      { to: "/symbols", name: "Symbols and quotes", icon: "sliders", scopes: ["trading:read"], key: "s" },
      { to: "/exposure", name: "Exposure", icon: "bars", scopes: ["trading:read"], key: "b" },
      { to: "/feeds", name: "Feeds", icon: "plug", scopes: ["feed:read"], key: "f" },
    ],
  },
  {
    name: "Integration",
    entries: [
      { to: "/webhooks", name: "Webhooks", icon: "hook", scopes: ["webhooks:read"], key: "w" },
      { to: "/events", name: "Events", icon: "bolt", scopes: ["events:read"], key: "e" },
    ],
  },
  {
    name: "Control",
    entries: [
      { to: "/audit", name: "Audit log", icon: "shield", scopes: ["audit:read"], key: "l" },
      { to: "/usage", name: "Usage", icon: "gauge", scopes: ["reports:read"], key: "u" },
      { to: "/operators", name: "Operators", icon: "person", scopes: ["operators:write"], key: "o" },
      { to: "/settings", name: "Settings", icon: "gear", scopes: ["settings:read"], key: "p" },
      { to: "/settings/api", name: "API", icon: "gear", scopes: ["applications:write"], key: "i", nested: true },
      { to: "/sandbox", name: "Sandbox", icon: "flask", scopes: ["sandbox"], key: "x", sandbox: true },
    ],
  },
];

/** The groups of what a person may open. */
export function openTo(scopes: readonly string[], environment: string): Group[] {
  const may = ({ scopes: wanted, sandbox = false }: Entry) =>
    (wanted.length === 0 || wanted.some((scope) => scopes.includes(scope))) && (!sandbox || environment === "sandbox");
  return navigation
    .map(({ name, entries }) => ({ name, entries: entries.filter(may) }))
    .filter(({ entries }) => entries.length > 0);
}

/** Pages that stand in no entry of their own, with the scopes of which one opens them. */
const others: Readonly<Record<string, readonly string[]>> = { "/deliveries": ["webhooks:read"] };

/** Whether a person with these scopes may open an address of this application. */
export function mayOpen(address: string, scopes: readonly string[]): boolean {
  const path = address.replace(/\?.*$/, "");
  const own = Object.entries(others).find(([start]) => path.startsWith(`${start}/`))?.[1];
  const entry = navigation.flatMap(({ entries }) => entries).find(({ to }) => to === currentEntry(path));
  const wanted = own ?? entry?.scopes ?? [];
  return wanted.length === 0 || wanted.some((scope) => scopes.includes(scope));
}

/** The entry that an address belongs to: the one with the longest path that begins it. */
export function currentEntry(path: string): string {
  const all = navigation.flatMap(({ entries }) => entries.map(({ to }) => to));
  const fitting = all.filter((to) => path === to || path.startsWith(`${to}/`));
  return fitting.toSorted((one, other) => other.length - one.length)[0] ?? "/";
}
