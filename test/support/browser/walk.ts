import type { Page } from "playwright-core";
import { open, settled } from "./browser.ts";
import type { ShownPage } from "./pages.ts";

/** Elements that a walk clicks: everything, or the links alone. */
export type Reach = "everything" | "links";

/** Something on a page that can be clicked; its key is the same for all rows of a list. */
interface Target {
  readonly key: string;
  readonly tag: string;
}

/** Marks the first thing in the page that was not clicked yet, and tells what it is; null when there is none. */
const nextTarget = (done: readonly string[], selector: string) => `(() => {
  const done = new Set(${JSON.stringify(done)});
  const plain = (text) =>
    text.replace(/\\b([a-z]{2,5})_[0-9A-Za-z…]+/g, "$1").replace(/\\d+/g, "0").trim().slice(0, 60);
  document.querySelectorAll("[data-walk]").forEach((one) => one.removeAttribute("data-walk"));
  for (const one of document.querySelectorAll(${JSON.stringify(selector)})) {
    if (!one.checkVisibility() || one.disabled || one.closest("[role=dialog]")) continue;
    const words = one.getAttribute("aria-label") ?? one.closest("label")?.textContent ?? one.textContent ?? "";
    const row = one.closest("tbody") === null ? "" : one.closest("table").caption?.textContent ?? "table";
    // Rows of a list are alike, so the first of each is clicked.
    const name = row !== "" && one.classList.contains("row-link") ? "a row" : plain(words);
    const key = [one.tagName, row, name].join(" ");
    if (done.has(key)) continue;
    one.setAttribute("data-walk", "next");
    return { key, tag: one.tagName };
  }
  return null;
})()`;

const selectors: Readonly<Record<Reach, string>> = {
  everything: "main a[href], main button, main select, main input:not([type=hidden])",
  links: "main a[href]",
};

const dialogState = `(() => {
  const dialog = document.querySelector("[role=dialog]");
  if (dialog === null) return "none";
  const focused = document.activeElement;
  if (!dialog.contains(focused)) return "the focus is outside of the dialog";
  return focused.classList.contains("mantine-Modal-close") && dialog.querySelector("input,select,textarea") !== null
    ? "the focus is on the button that closes the dialog" : "good";
})()`;

const failures = `[...document.querySelectorAll("main [role=alert], [role=dialog] [role=alert]")]
  .map((one) => one.textContent.slice(0, 160))`;

/**
 * Clicks what the pages offer, as a person would, and returns what went wrong: a page or a part that failed, an answer
 * 403 or 5xx, an error in the console, a dialog whose focus is not in its first field or that Escape does not close.
 */
export async function walk(page: Page, pages: readonly ShownPage[], reach: Reach): Promise<string[]> {
  const found: string[] = [];
  let at = "";
  const note = (text: string) => found.push(`${at}: ${text}`);
  page.on("console", (message) => {
    // Answers are judged by their status below; the console repeats those of errors.
    const isAnswer = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isAnswer) note(`console: ${message.text()}`);
  });
  page.on("pageerror", ({ message }) => note(`thrown: ${message}`));
  page.on("response", (response) => {
    const { pathname } = new URL(response.url());
    if (response.status() === 403 || response.status() >= 500) note(`${response.status()} of ${pathname}`);
  });
  const look = async () => {
    await settled(page);
    for (const text of (await page.evaluate(failures)) as string[]) note(text);
  };
  for (const { name, address } of pages) {
    at = name;
    await open(page, address);
    await look();
    found.push(...(await walkTabs(page, name, look)));
    await open(page, address);
    const done: string[] = [];
    for (let start = true; ; ) {
      const target = (await page.evaluate(nextTarget(done, selectors[reach]))) as Target | null;
      if (target === null && start) break;
      if (target === null) {
        await open(page, address);
        start = true;
        continue;
      }
      start = false;
      at = `${name}, ${target.key}`;
      done.push(target.key);
      await click(page, target);
      await look();
      await closeDialog(page, note);
      if (new URL(page.url()).pathname !== new URL(address, page.url()).pathname) await open(page, address);
    }
  }
  return found;
}

async function click(page: Page, { tag }: Target): Promise<void> {
  const target = page.locator("[data-walk=next]");
  if (tag === "SELECT") {
    const values = await target.locator("option").evaluateAll((all) => all.map((one) => one.getAttribute("value")));
    await target.selectOption(values.at(-1) ?? "");
  } else {
    // An element above it, such as a row's other parts, would take the click of a person too.
    await target.click({ timeout: 5_000 });
  }
}

async function closeDialog(page: Page, note: (text: string) => void): Promise<void> {
  const state = (await page.evaluate(dialogState)) as string;
  if (state === "none") return;
  if (state !== "good") note(state);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached", timeout: 5_000 });
}

/** From each tab of an item to each other one: rows of one must never stand under the columns of another. */
async function walkTabs(page: Page, name: string, look: () => Promise<void>): Promise<string[]> {
  const tabs = await page.locator("nav.tabs a").allTextContents();
  for (const from of tabs) {
    for (const to of tabs) {
      if (from === to) continue;
      for (const each of [from, to]) {
        await page.locator("nav.tabs").getByRole("link", { name: each, exact: true }).click();
        await look();
      }
      const shown = await page.locator("nav.tabs [aria-current=page]").textContent();
      if (shown !== to) return [`${name}: the tab ${to} does not open from ${from}`];
    }
  }
  return [];
}
