import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import type { Browser, Download, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { accessToken } from "../../infra/tools/api-call.ts";
import { leave, sharedBrowser, signInAs, type Visit, visit } from "../support/browser/browser.ts";
import { apiClient } from "../support/stack/api-client.ts";
import { findCanaries } from "../support/stack/canary.ts";
import { newOperator, type OperatorUser } from "../support/stack/operator-user.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";

let stack: Stack;
let browser: Browser;
const shared = sharedBrowser();
let owner: OperatorUser;
const visits: Visit[] = [];

beforeAll(async () => {
  [stack, browser] = await Promise.all([sharedStack(), shared.start()]);
  owner = await newOperator(stack, "owner");
});
afterEach(async () => expect(await leave(visits)).toEqual([]));
afterAll(async () => {
  await shared.stop();
  await stack?.stop();
});

/** The dashboard in a browser of the owner's own. */
async function signedIn(): Promise<Page> {
  const visited = await visit(browser, stack.cloud.dashboardUrl ?? "");
  visits.push(visited);
  await signInAs(visited.page, owner);
  return visited.page;
}

async function textOf(download: Download): Promise<string> {
  return readFileSync(await download.path(), "utf8");
}

/** Everything of a page in the browser that a later visitor could read. */
const kept = (page: Page) =>
  page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])");

describe("a page of the dashboard", () => {
  it("is refused styles and markup that its policy does not allow, and these tests see the refusal", async () => {
    const { page, faults, close } = await visit(browser, stack.cloud.dashboardUrl ?? "");
    const inline = "const one = document.createElement('style'); one.textContent = 'a{}'; document.head.append(one)";
    await page.evaluate(inline);
    await expect(page.evaluate("document.body.innerHTML = '<b>x</b>'")).rejects.toThrow("TrustedHTML");
    await expect.poll(() => faults.join("\n")).toMatch(/style-src[\s\S]*trusted-types/i);
    await close();
  });
});

describe("the dashboard", () => {
  it("creates an application whose secret, shown once, gets a token that calls the API", async () => {
    const page = await signedIn();
    await page.getByRole("link", { name: "API", exact: true }).click();
    await page.getByRole("button", { name: "Create Application" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("CRM");
    await dialog.getByLabel("clients:read").check();
    await dialog.getByRole("button", { name: "Create" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download .env" }).click(),
    ]);
    const {
      CLIENT_ID: client_id = "",
      CLIENT_SECRET: client_secret = "",
      BASE = "",
    } = parseEnv(await textOf(download));

    const token = await accessToken(BASE, { client_id, client_secret });
    expect((await apiClient(BASE, token).call("GET", "/clients")).status).toBe(200);
    await page.getByLabel("I have stored the secret").check();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByText("CRM", { exact: true }).waitFor();
    expect([await page.content(), await kept(page)].join("\n")).not.toContain(client_secret);
    // The session of a new page begins at the pool, which knows the person still.
    await page.reload();
    await page.getByText("CRM", { exact: true }).waitFor();
    expect([await page.content(), await kept(page)].join("\n")).not.toContain(client_secret);
    expect(await findCanaries(stack, new Map([["the client secret", client_secret]]))).toEqual([]);
  });
});
