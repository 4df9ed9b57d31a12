import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { navigation } from "../../infra/dashboard/app/shell/navigation.ts";
import { open, settled, sharedBrowser, showTheme, type Visit, visit, visitAs } from "../support/browser/browser.ts";
import { type ShownPage, shownPages } from "../support/browser/pages.ts";
import { type Scene, setScene } from "../support/browser/scene.ts";
import { newOperator, type OperatorUser } from "../support/stack/operator-user.ts";
import { answerWith, type Receiver, startReceiver } from "../support/stack/receiver.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";

let stack: Stack;
let browser: Browser;
const shared = sharedBrowser();
let receiver: Receiver;
let owner: OperatorUser;
let pages: readonly ShownPage[];
let scene: Scene;
let visited: Visit | undefined;

/** Hostile texts of other people: markup, a formula, and a sequence that would clear a terminal. */
const markup = '<img src=x onerror="alert(1)"><script>alert(2)</script>';
const formula = '=HYPERLINK("http://evil.example","click")';

async function call<T>(method: string, path: string, body?: object): Promise<T> {
  const reply = await stack.api.call<T>(method, path, body === undefined ? {} : { body });
  expect([method, path, reply.status, reply.text]).toEqual([method, path, expect.toBeOneOf([200, 201]), reply.text]);
  return reply.body;
}

beforeAll(async () => {
  [stack, browser, receiver] = await Promise.all([sharedStack(), shared.start(), startReceiver()]);
  receiver.answer = (one, reply) => answerWith(one.path === "/ok" ? 200 : 503)(one, reply);
  owner = await newOperator(stack, "owner");
  scene = await setScene(call, { accepting: `${receiver.url}/ok`, failing: `${receiver.url}/broker` });
  const names = { first_name: markup, last_name: formula };
  const metadata = { note: markup, clear: "\\u001b[2J" };
  await call("PATCH", `/clients/${scene.client_id}`, { ...names, metadata });
  await call("POST", "/operators", { email: "hostile@example.com", name: markup, role: "viewer" });
  await stack.cloud.invoke("brokerage-sandbox-collect-usage", { action: "collect" });
  await stack.cloud.invoke("brokerage-sandbox-margin-sweep", {});
  pages = shownPages(scene);
});
afterEach(() => expect(visited?.faults ?? []).toEqual([]));
afterAll(async () => {
  await visited?.close();
  await shared.stop();
  await endDeliveries();
  await receiver?.stop();
  await stack?.stop();
});

/** A delivery that a receiver does not take is sent again while other files run: deletes the endpoints of the scene. */
async function endDeliveries(): Promise<void> {
  const listed = await stack?.api.call<{ data: { id: string }[] }>("GET", "/webhook_endpoints");
  for (const { id } of listed?.body.data ?? []) await stack.api.call("DELETE", `/webhook_endpoints/${id}`);
}

/** The page of the owner, who signs in once, at an address. */
async function signedIn(address = "/"): Promise<Page> {
  visited ??= await visitAs(browser, stack.cloud.dashboardUrl ?? "", owner);
  await open(visited.page, address);
  return visited.page;
}

/** Appearance of a page. */
interface Form {
  readonly theme: "light" | "dark";
  readonly size: { readonly width: number; readonly height: number };
}
const wide: Form = { theme: "light", size: { width: 1440, height: 900 } };
const narrow: Form = { theme: "dark", size: { width: 360, height: 760 } };

/** Shows a page in a form; the button of the theme is where there is room. */
async function show(page: Page, { theme, size }: Form): Promise<void> {
  await page.setViewportSize(wide.size);
  await showTheme(page, theme);
  await page.setViewportSize(size);
  await settled(page);
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Rules of axe whose violations never keep people out: what they find would be dropped. */
const lesserRules = `Object.fromEntries(axe._audit.rules
  .filter(({ impact }) => impact === "minor" || impact === "moderate")
  .map(({ id }) => [id, { enabled: false }]))`;

/** Violations of a page that keep people out, each with the elements. */
async function barriers(page: Page): Promise<string[]> {
  const options = `{ resultTypes: ["violations"], rules: ${lesserRules} }`;
  return page.evaluate(`axe.run(document, ${options}).then(({ violations }) => violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => id + ": " + nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(" | ")))`);
}

/** Elements that a mouse can press and a keyboard cannot reach. */
const outOfReach = `[...document.querySelectorAll("body *")]
  .filter((one) => getComputedStyle(one).cursor === "pointer" && one.checkVisibility())
  .filter((one) => one.closest("a[href],button,input,select,textarea,label,summary,[tabindex='0']") === null)
  .map((one) => one.outerHTML.slice(0, 120))`;

/** Elements without room: words of a button, the link of a row, or the page itself. */
const withoutRoom = `[
  ...[...document.querySelectorAll(".mantine-Button-label")].filter((one) => one.scrollWidth > one.clientWidth + 1),
  ...[...document.querySelectorAll("td:has(> .row-link)")].filter((one) => one.clientWidth < 60),
  ...[document.querySelector("main")].filter((one) => one.scrollWidth > one.clientWidth + 1),
].map((one) => "no room: " + one.outerHTML.slice(0, 120))`;

describe("every page", () => {
  it("is one of those that are looked at", () => {
    const routes = readFileSync("infra/dashboard/app/routes.tsx", "utf8");
    const rows = [...routes.matchAll(/\bpath: "([^"]+)"/g)].map(([, path]) => path);
    expect(rows.length).toBeGreaterThan(15);
    expect([...new Set(pages.map(({ row }) => row))].toSorted()).toEqual(rows.toSorted());
  });

  it("passes axe, runs nothing of what others wrote, and has room and a key for all in both forms", async () => {
    const page = await signedIn();
    page.on("dialog", (dialog) => {
      throw new Error(`A page ran what others wrote: ${dialog.message()}`);
    });
    await page.evaluate(axe);
    const found: string[] = [];
    // Each page begins in the form that the one before it was left in: to change the form draws everything again.
    const forms = [wide, narrow];
    await show(page, wide);
    for (const { name, address } of pages) {
      await open(page, address);
      for (const [place, form] of forms.entries()) {
        if (place > 0) await show(page, form);
        const looks = [await page.evaluate(outOfReach), await page.evaluate(withoutRoom)] as string[][];
        const faults = [...(await barriers(page)), ...looks.flat()];
        found.push(...faults.map((fault) => `${name}, ${form.theme}: ${fault}`));
      }
      forms.reverse();
    }
    await show(page, wide);
    expect(found).toEqual([]);
  }, 180_000);

  it("opens by its keys, a row by j and Enter, and what is opened closes by Escape", async () => {
    const page = await signedIn();
    await settled(page);
    for (const { key, to } of navigation.flatMap(({ entries }) => entries)) {
      for (const each of ["g", key]) await page.keyboard.press(each);
      await page.waitForURL((url) => url.pathname === to);
      await settled(page);
    }
    await open(page, "/events");
    for (const key of ["j", "j", "k", "Enter"]) await page.keyboard.press(key);
    await page.locator(".opened").waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".opened").waitFor({ state: "detached" });
    await page.keyboard.press("/");
    await page.keyboard.type(scene.account_id);
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.pathname === `/accounts/${scene.account_id}`);
  });
});

describe("what other people wrote", () => {
  it("is text on the page, and a formula is none in the file of a list", async () => {
    const page = await signedIn("/clients");
    await page.getByText(`${markup} ${formula}`).waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: /^Save these \d+ rows$/ }).click(),
    ]);
    const csv = readFileSync(await download.path(), "utf8");
    expect(csv).toContain(`"'${formula.replaceAll('"', '""')}"`);
    expect(csv.split("\r\n")[0]).toMatch(/^id,/);
  });
});

describe("the token", () => {
  it("is in no storage and in no address of the browser", async () => {
    const page = await signedIn("/clients");
    const header = page.waitForRequest((request) => request.headers()["authorization"] !== undefined);
    await open(page, "/accounts");
    const token = (await header).headers()["authorization"]?.replace("Bearer ", "") ?? "";
    expect(token.length).toBeGreaterThan(100);
    const kept: string = await page.evaluate(`JSON.stringify(
      [{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state])`);
    expect(kept).not.toContain(token);
    expect(kept).not.toMatch(/eyJ[\w-]+\.eyJ/);
  });
});

describe("another site", () => {
  it("cannot show the dashboard in a frame", async () => {
    const html = `<iframe src="${stack.cloud.dashboardUrl}"></iframe>`;
    const site = createServer((_, reply) => void reply.setHeader("Content-Type", "text/html").end(html));
    await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
    const { page, close } = await visit(browser, `http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
    const [frame] = page.mainFrame().childFrames();
    await expect.poll(() => frame?.url()).toMatch(/^chrome-error:/);
    await close();
    site.close();
  });
});
