import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { settled, sharedBrowser, visitAs } from "../support/browser/browser.ts";
import { shownPages } from "../support/browser/pages.ts";
import { type Scene, setScene } from "../support/browser/scene.ts";
import { walk } from "../support/browser/walk.ts";
import { newOperator } from "../support/stack/operator-user.ts";
import { answerWith, type Receiver, startReceiver } from "../support/stack/receiver.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";

let stack: Stack;
let browser: Browser;
const shared = sharedBrowser();
let receiver: Receiver;
let scene: Scene;

async function call<T>(method: string, path: string, body?: object): Promise<T> {
  const reply = await stack.api.call<T>(method, path, body === undefined ? {} : { body });
  expect([method, path, reply.status, reply.text]).toEqual([method, path, expect.toBeOneOf([200, 201]), reply.text]);
  return reply.body;
}

beforeAll(async () => {
  [stack, browser, receiver] = await Promise.all([sharedStack(), shared.start(), startReceiver()]);
  receiver.answer = (one, reply) => answerWith(one.path === "/ok" ? 200 : 503)(one, reply);
  scene = await setScene(call, { accepting: `${receiver.url}/ok`, failing: `${receiver.url}/broker` });
});
afterAll(async () => {
  await shared.stop();
  const listed = await stack?.api.call<{ data: { id: string }[] }>("GET", "/webhook_endpoints");
  for (const { id } of listed?.body.data ?? []) await stack.api.call("DELETE", `/webhook_endpoints/${id}`);
  await receiver?.stop();
  await stack?.stop();
});

describe("a walk through the dashboard", () => {
  it("of the owner clicks every tab, button, filter, dialog and link, and nothing fails", async () => {
    const owner = await newOperator(stack, "owner");
    const { page, faults, close } = await visitAs(browser, stack.cloud.dashboardUrl ?? "", owner);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await settled(page);
    // The address of a client that does not exist is answered 404, which the console reports.
    const pages = shownPages(scene).filter(({ name }) => name !== "unknown-client");
    expect([...(await walk(page, pages, "everything")), ...faults]).toEqual([]);
    await close();
  }, 600_000);

  it.each(["finance", "compliance", "support", "risk", "developer", "viewer"] as const)(
    "of %s finds no link that may not be opened",
    async (role) => {
      const person = await newOperator(stack, role);
      const { page, faults, close } = await visitAs(browser, stack.cloud.dashboardUrl ?? "", person);
      await settled(page);
      const entries = await page
        .locator("nav[aria-label=Main] a")
        .evaluateAll((all) => all.map((one) => one.getAttribute("href") ?? ""));
      const pages = entries.map((address) => ({ name: `${role} ${address}`, row: address, address }));
      expect(pages.length).toBeGreaterThan(2);
      expect([...(await walk(page, pages, "links")), ...faults]).toEqual([]);
      await close();
    },
    180_000,
  );
});
