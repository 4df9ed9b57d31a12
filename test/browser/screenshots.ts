import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, relative, resolve } from "node:path";
import type { Browser, Page } from "playwright-core";
import { functionName } from "../../infra/stages.ts";
import { invokeFunction, localRunner } from "../../infra/tools/operator.ts";
import { helpAsked, readArguments, runCommand } from "../../shared/runtime/command-line.ts";
import { open, showTheme, signInAs, startBrowser, visit } from "../support/browser/browser.ts";
import { type ShownPage, shownPages } from "../support/browser/pages.ts";
import { runningService } from "../support/browser/running-service.ts";
import { type Scene, type SceneCall, type SceneReceivers, setScene } from "../support/browser/scene.ts";

const help = `Photographs every page of the dashboard of a running npm start, light and dark, 1440 and 360 pixels wide.

node infra/run.mjs test/browser/screenshots.ts [options]
  --out <folder>     where to (default .local/screenshots)
  --only <text>      pages whose name holds this text
  --readme           takes the pictures of the README instead, into infra/dashboard/pictures
  --help             this text

It signs in as the demo owner. An empty brokerage gets some people, money and trades first; begin again with
npm start -- --fresh.`;

const sceneFile = ".local/scene.json";
const widths = [
  { width: 1440, height: 900 },
  { width: 360, height: 760 },
] as const;

const picturesDir = "infra/dashboard/pictures";
const illustrations = [
  ["home", "light", widths[0]],
  ["approval", "dark", widths[0]],
  ["account", "light", widths[0]],
  ["webhook", "dark", widths[0]],
  ["usage", "light", widths[0]],
  ["approvals", "light", widths[1]],
] as const;

/** Receivers of webhooks: what is sent to `/ok` is accepted, and everything else is not. */
async function startReceivers() {
  const reply = '{"error":"upstream_unavailable",\n "message":"CRM is in maintenance until 14:30 UTC"}';
  const server = createServer((incoming, answer) => {
    incoming.resume();
    const accepted = incoming.url === "/ok";
    answer.writeHead(accepted ? 200 : 503, { "Content-Type": "application/json" }).end(accepted ? "" : reply);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { accepting: `${url}/ok`, failing: `${url}/broker`, stop: () => server.close() };
}

/** The scene that an earlier run has set in this brokerage, or a new one. */
async function sceneOf(call: SceneCall, receivers: SceneReceivers): Promise<Scene> {
  const kept: Partial<Scene> = existsSync(sceneFile) ? JSON.parse(readFileSync(sceneFile, "utf8")) : {};
  const { data } = await call<{ data: readonly { id: string }[] }>("GET", "/clients?limit=100");
  if (data.some(({ id }) => id === kept.client_id)) return kept as Scene;
  const scene = await setScene(call, receivers);
  writeFileSync(sceneFile, JSON.stringify(scene));
  return scene;
}

async function photograph(page: Page, pages: readonly ShownPage[], out: string): Promise<number> {
  let count = 0;
  for (const theme of ["light", "dark"] as const) {
    for (const size of widths) {
      await page.setViewportSize(size);
      await open(page, "/");
      await showTheme(page, theme);
      for (const { name, address } of pages) {
        await open(page, address);
        await page.screenshot({ path: join(out, `${name}-${theme}-${size.width}.png`) });
        count += 1;
      }
    }
  }
  return count;
}

/** The pictures of the README, as WebP: a fifth of the bytes of PNG. */
async function illustrate(browser: Browser, page: Page, pages: readonly ShownPage[]): Promise<number> {
  const canvas = await browser.newPage();
  const wanted = illustrations.filter(([name]) => pages.some((one) => one.name === name));
  for (const [name, theme, size] of wanted) {
    await page.setViewportSize(size);
    await open(page, "/");
    await showTheme(page, theme);
    await open(page, pages.find((one) => one.name === name)?.address ?? "/");
    const png = (await page.screenshot()).toString("base64");
    const url: string = await canvas.evaluate(`(async () => {
      const image = new Image();
      image.src = "data:image/png;base64,${png}";
      await image.decode();
      const drawn = new OffscreenCanvas(image.width, image.height);
      drawn.getContext("2d").drawImage(image, 0, 0);
      const blob = await drawn.convertToBlob({ type: "image/webp", quality: 0.85 });
      return btoa(Array.from(new Uint8Array(await blob.arrayBuffer()), (byte) => String.fromCharCode(byte)).join(""));
    })()`);
    writeFileSync(join(picturesDir, `${name}.webp`), Buffer.from(url, "base64"));
  }
  return wanted.length;
}

async function main(): Promise<void> {
  if (helpAsked(help)) return;
  const { values } = readArguments({
    out: { type: "string", default: ".local/screenshots" },
    only: { type: "string", default: "" },
    readme: { type: "boolean", default: false },
  });
  const { dashboard_url, owner, call } = runningService();
  const out = resolve(values.out);
  mkdirSync(values.readme ? picturesDir : out, { recursive: true });
  const [browser, receivers] = await Promise.all([startBrowser(), startReceivers()]);
  try {
    const scene = await sceneOf(call, receivers);
    // Otherwise the page of usage is empty until the next hour.
    await invokeFunction(functionName("sandbox", "collect-usage"), { action: "collect" }, localRunner().config);
    const pages = shownPages(scene).filter(({ name }) => name.includes(values.only));
    const { page, faults } = await visit(browser, dashboard_url);
    await signInAs(page, owner);
    const count = await (values.readme ? illustrate(browser, page, pages) : photograph(page, pages, out));
    console.log(`${count} pictures are in ${values.readme ? picturesDir : relative(process.cwd(), out)}.`);
    if (faults.length > 0) throw new Error(faults.join("\n"));
  } finally {
    await browser.close();
    receivers.stop();
  }
}

await runCommand(main);
