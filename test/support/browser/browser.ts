import bundled from "@sparticuz/chromium";
import { type Browser, type BrowserContextOptions, chromium, type Page, type Request } from "playwright-core";
import { totpCode } from "../../../infra/local/pool/totp.ts";
import type { SignInUser } from "../stack/sign-in.ts";
import { eventually } from "../wait.ts";

/** A page of a person's own browser, and what went wrong in it. */
export interface Visit {
  readonly page: Page;
  /** Violations of the content security policy, and errors that the page did not catch. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

/**
 * Starts a browser: the Chromium of an npm package, unpacked into the temporary folder at first, or the one that
 * `CHROME_PATH` names. Its sandbox needs rights that a container does not give; every other protection is on.
 */
export async function startBrowser(...args: readonly string[]): Promise<Browser> {
  const executablePath = process.env["CHROME_PATH"] ?? (await bundled.executablePath());
  return chromium.launch({ executablePath, args: ["--no-sandbox", ...args] });
}

/** A browser for a test file, in which each visit has a context of its own. */
export interface SharedBrowser {
  /** The browser, started for the first file that asks. */
  start(): Promise<Browser>;
  /** Ends the browser when no other file of this process needs it any more. */
  stop(): Promise<void>;
}

/** A page of a test is left before the code that V8 optimizes for it has saved as much as the optimizer took. */
const withoutOptimizer = "--js-flags=--no-turbofan";

/** Test files of this process that have yet to end, and the browser that they share. */
let users = 0;
let running: Promise<Browser> | undefined;

/**
 * The browser of the test files that run in one process one after the other: its start takes seconds of a processor. A
 * file calls this when it is loaded, so that the first one that ends knows of the others.
 */
export function sharedBrowser(): SharedBrowser {
  users += 1;
  return {
    start: () => (running ??= startBrowser(withoutOptimizer)),
    async stop() {
      users -= 1;
      if (users > 0) return;
      const last = await running;
      running = undefined;
      await last?.close();
    },
  };
}

/** Reports what a policy refuses even where the page goes on without it. */
const reportViolations = `document.addEventListener("securitypolicyviolation", (event) => {
  const { violatedDirective: directive, blockedURI, sample } = event;
  console.error("Content security policy: " + directive + " refused " + blockedURI + " " + sample);
});`;

/** Opens a page in a new browser context, with cookies and storage of its own. */
export async function visit(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ locale: "en-US", ...options });
  await context.addInitScript({ content: reportViolations });
  const faults: string[] = [];
  const page = await context.newPage();
  followRequests(page);
  page.on("pageerror", (error) => faults.push(`The page threw ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && /content security policy|trustedhtml|trusted type/i.test(text)) faults.push(text);
  });
  await page.goto(url);
  return { page, faults, close: () => context.close() };
}

/** Signs in from the dashboard's entrance, as a person does at the pool's pages, and waits for the dashboard. */
export async function signInAs(page: Page, user: SignInUser): Promise<void> {
  const dashboard = new URL(page.url()).origin;
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("Email").fill(user.email);
  await page.getByLabel("Password").fill(user.password);
  await page.getByRole("button").click();
  await page.getByLabel("Code").fill(totpCode(user.totp_secret, Date.now()));
  await page.getByRole("button").click();
  await page.waitForURL((url) => url.origin === dashboard && url.pathname !== "/signed-in");
}

/** Requests of a page that are not answered yet. */
const underWay = new WeakMap<Page, Set<Request>>();

function followRequests(page: Page): void {
  const open = new Set<Request>();
  underWay.set(page, open);
  page.on("request", (request) => open.add(request));
  page.on("requestfinished", (request) => open.delete(request));
  page.on("requestfailed", (request) => open.delete(request));
}

/** Elements that a page still waits for after two frames: rows that are awaited, its heading, its fonts. */
const awaitedInPage = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done([
  ...[...document.querySelectorAll(".waiting")].map(({ tagName, className }) => tagName + "." + className),
  ...(document.querySelector("h1") === null ? ["a heading"] : []),
  ...(document.fonts.status === "loaded" ? [] : ["fonts"]),
]))))`;

/** A page asks functions that no test has called before, and each of them starts: seconds while other tests run. */
const withinMs = 40_000;

/** Waits until a page shows what it is about: what it asked for is answered and drawn. */
export async function settled(page: Page): Promise<void> {
  let awaited: string[] = [];
  const requests = () => [...(underWay.get(page) ?? [])].map((request) => `${request.method()} ${request.url()}`);
  const look = async () => {
    awaited = requests();
    if (awaited.length === 0) awaited = (await page.evaluate(awaitedInPage)) as string[];
    if (awaited.length === 0) awaited = requests();
    return awaited.length === 0 || undefined;
  };
  try {
    await eventually(look, withinMs);
  } catch (cause) {
    throw new Error(`${page.url()} still waits for ${awaited.join(", ")}.`, { cause });
  }
}

/** Opens an address of the dashboard as a link of it does, without another sign-in. */
export async function open(page: Page, address: string): Promise<void> {
  await page.evaluate(`history.pushState(null, "", ${JSON.stringify(address)})`);
  await settled(page);
}

/** Shows the light or the dark theme. */
export async function showTheme(page: Page, theme: "light" | "dark"): Promise<void> {
  const button = page.getByRole("button", { name: theme === "dark" ? "Dark theme" : "Light theme" });
  if ((await button.count()) > 0) await button.click();
}

/** Opens an address of a running dashboard in a browser context of an operator's own, signed in. */
export async function visitAs(browser: Browser, url: string, user: SignInUser, address = "/"): Promise<Visit> {
  const visited = await visit(browser, new URL(address, url).href);
  await signInAs(visited.page, user);
  return visited;
}

/** Ends visits; returns what went wrong in them. */
export async function leave(visits: Visit[]): Promise<string[]> {
  const ended = visits.splice(0);
  await Promise.all(ended.map((one) => one.close()));
  return ended.flatMap(({ faults }) => faults);
}
