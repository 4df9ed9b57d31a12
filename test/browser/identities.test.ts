import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { productionAssembly } from "../support/assemblies.ts";
import { leave, sharedBrowser, type Visit, visitAs } from "../support/browser/browser.ts";
import { someClient } from "../support/stack/api-client.ts";
import { newOperator } from "../support/stack/operator-user.ts";
import { type Stack, sharedStack, startStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";

type Stage = "sandbox" | "production";

const stacks: Partial<Record<Stage, Stack>> = {};
let browser: Browser;
const shared = sharedBrowser();
const visits: Visit[] = [];

function stackOf(stage: Stage): Stack {
  const stack = stacks[stage];
  if (stack === undefined) throw new Error(`The stage ${stage} is not running.`);
  return stack;
}

async function startProduction(): Promise<Stack> {
  const assemblyDir = await productionAssembly(inject("assemblyDir"));
  // The whole document knows the paths of both stages: what is answered to one that is not there is not in it.
  return startStack({ assemblyDir, onAnswer: () => undefined }, "production");
}

beforeAll(async () => {
  [stacks.sandbox, browser] = await Promise.all([sharedStack(), shared.start()]);
  // One after the other: each start takes the whole machine.
  stacks.production = await startProduction();
}, 180_000);
afterEach(async () => expect(await leave(visits)).toEqual([]));
afterAll(async () => {
  await shared.stop();
  await Promise.all([stacks.sandbox?.stop(), stacks.production?.stop()]);
});

async function at(role: "compliance" | "support" | "viewer" | "owner", stage: Stage = "sandbox"): Promise<Page> {
  const stack = stackOf(stage);
  const visited = await visitAs(browser, stack.cloud.dashboardUrl ?? "", await newOperator(stack, role));
  visits.push(visited);
  return visited.page;
}

const known = { date_of_birth: "1990-01-01", country: "PT" };

/** A client of this name whose identity waits for a decision. */
async function pending(last_name: string, stage: Stage = "sandbox"): Promise<string> {
  const body = { ...someClient(), ...known, last_name };
  const { api } = stackOf(stage);
  const { id } = (await api.call<{ id: string }>("POST", "/clients", { body })).body;
  await api.call("PATCH", `/clients/${id}`, { body: { verification_status: "pending" } });
  return id;
}

const clientAt = async (id: string, stage: Stage = "sandbox") =>
  (await stackOf(stage).api.call("GET", `/clients/${id}`)).body;

/** Presses keys one by one, and says how many they were. */
async function press(page: Page, ...keys: readonly string[]): Promise<number> {
  for (const key of keys) {
    await page.keyboard.press(key);
    if (["v", "r", "f"].includes(key)) await page.getByRole("dialog").getByRole("checkbox").first().waitFor();
  }
  return keys.length;
}

describe("compliance decides by keys", () => {
  it.each(["production", "sandbox"] as const)(
    "in %s: verifies in four, rejects in six, and the next row opens",
    async (stage) => {
      const ids: string[] = [];
      for (const name of ["Firstly", "Secondly", "Thirdly", "Fourthly"]) ids.push(await pending(name, stage));
      const page = await at("compliance", stage);
      await page
        .getByRole("link", { name: /^Compliance/ })
        .first()
        .click();
      const opened = page.locator(".opened");
      await page.getByRole("row").filter({ hasText: "Fourthly" }).waitFor();
      expect(await press(page, "j")).toBe(1);
      await opened.getByRole("heading", { name: /Firstly/ }).waitFor();
      expect(await press(page, "v", "1", "Enter")).toBeLessThanOrEqual(4 - 1);
      await opened.getByRole("heading", { name: /Secondly/ }).waitFor();
      expect(await press(page, "r", "9", "Enter")).toBeLessThanOrEqual(6);
      await opened.getByRole("heading", { name: /Thirdly/ }).waitFor();
      expect(await press(page, "f", "6", "Enter")).toBeLessThanOrEqual(6);
      await opened.getByRole("heading", { name: /Fourthly/ }).waitFor();
      const [verified, again, final] = await Promise.all(ids.map((id) => clientAt(id, stage)));
      expect(verified).toMatchObject({
        verification_status: "verified",
        verification: { checks: ["identity_document"], expires_at: expect.stringMatching(/T00:00:00\.000Z$/) },
      });
      expect(again?.["verification"]).toMatchObject({
        rejection_reasons: ["document_unreadable"],
        retry_allowed: true,
      });
      expect(final?.["verification"]).toMatchObject({ rejection_reasons: ["watchlist_hit"], retry_allowed: false });
    },
  );

  it("renews a verification that ends, and sees who else may be the same person", async () => {
    const id = await pending("Endsoon");
    const twin = await pending("Endsoon");
    const expires_at = new Date(Date.now() + 5 * 86_400_000).toISOString();
    const verification = { expires_at, checks: ["liveness"] };
    await stackOf("sandbox").api.call("PATCH", `/clients/${id}`, {
      body: { verification_status: "verified", verification },
    });
    const page = await at("compliance");
    await page
      .getByRole("link", { name: /^Compliance/ })
      .first()
      .click();
    await page.getByRole("link", { name: /^Renewals/ }).click();
    await page.getByRole("row").filter({ hasText: "Endsoon" }).getByRole("link").click();
    await page.getByText("May be the same person").waitFor();
    await page.locator(`.opened a[href="/clients/${twin}"]`).waitFor();
    await press(page, "v", "3", "Enter");
    await eventually(async () => {
      const { verification: now, version } = (await clientAt(id)) as {
        verification: { expires_at: string };
        version: number;
      };
      return (now.expires_at > expires_at && version > 3) || undefined;
    });
    expect(await clientAt(id)).toMatchObject({
      verification_status: "verified",
      verification: { checks: ["address"] },
    });
  });

  it("writes a note, asks again about a client, and reads what was decided", async () => {
    const id = await pending("Noted");
    const page = await at("compliance");
    await page.goto(`${new URL(page.url()).origin}/clients/${id}`);
    await page.getByRole("button", { name: "Note" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Note").fill("Called back");
    await dialog.getByRole("button", { name: "Add note" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.locator(".timeline").getByText("Called back").waitFor();
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Reject identity" }).click();
    await dialog.getByLabel("Pep").check();
    await dialog.getByLabel("Then").selectOption("no");
    await dialog.getByLabel("Internal comment (optional)").fill("Minister of another country");
    await dialog.getByRole("button", { name: "Reject identity" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.locator(".timeline").getByText("Minister of another country").waitFor();
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "To pending" }).click();
    await dialog.getByRole("button", { name: "To pending" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await clientAt(id)).toMatchObject({ verification_status: "pending", verification: { retry_allowed: null } });
    expect(await page.getByRole("button", { name: /Simulate/ }).count()).toBe(0);
  });
});

describe("who does not decide", () => {
  it.each(["support", "viewer"] as const)(
    "%s sees neither the queue nor a button, and the notes alone",
    async (role) => {
      const id = await pending(`Of${role}`);
      await stackOf("sandbox").api.call("POST", `/clients/${id}/reviews`, { body: { note: "For all of us" } });
      const body = { verification: { internal_comment: "For compliance alone" } };
      await stackOf("sandbox").api.call("PATCH", `/clients/${id}`, { body });
      const page = await at(role);
      await page.goto(`${new URL(page.url()).origin}/clients/${id}`);
      await page.locator(".timeline").getByText("For all of us").waitFor();
      expect(await page.getByText("For compliance alone").count()).toBe(0);
      expect(await page.getByRole("link", { name: /^Compliance/ }).count()).toBe(0);
      expect(await page.getByRole("button", { name: /Verify|Reject|To pending|More/ }).count()).toBe(0);
      expect(await page.getByRole("button", { name: "Note" }).count()).toBe(role === "support" ? 1 : 0);
    },
  );

  it.each(["sandbox", "production"] as const)("%s simulates for the owner in the sandbox alone", async (stage) => {
    const id = await pending("Simulated", stage);
    const page = await at("owner", stage);
    await page.goto(`${new URL(page.url()).origin}/clients/${id}`);
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Reject identity" }).waitFor();
    if (stage === "production") {
      expect(await page.getByRole("button", { name: /Simulate/ }).count()).toBe(0);
      return;
    }
    await page.getByRole("button", { name: "Simulate a passed check" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Simulate" }).click();
    await page.getByText("Identity verified").waitFor();
    expect(await clientAt(id)).toMatchObject({ verification_status: "verified" });
  });
});
