import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { leave, sharedBrowser, type Visit, visitAs } from "../support/browser/browser.ts";
import { fundedAccount, someClient } from "../support/stack/api-client.ts";
import { newOperator } from "../support/stack/operator-user.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";

let stack: Stack;
let browser: Browser;
const shared = sharedBrowser();
const visits: Visit[] = [];

beforeAll(async () => {
  [stack, browser] = await Promise.all([sharedStack(), shared.start()]);
});
afterEach(async () => expect(await leave(visits)).toEqual([]));
afterAll(async () => {
  await shared.stop();
  await stack?.stop();
});

async function at(role: "finance" | "compliance"): Promise<Page> {
  const visited = await visitAs(browser, stack.cloud.dashboardUrl ?? "", await newOperator(stack, role));
  visits.push(visited);
  return visited.page;
}

async function made(method: string, path: string, body: object): Promise<string> {
  const reply = await stack.api.call<{ id: string }>(method, path, { body });
  expect(reply.status, reply.text).toBeLessThan(300);
  return reply.body.id;
}

describe("finance", () => {
  it("approves a withdrawal knowing its client, account and balance, and that its holder is another", async () => {
    const rule = { kind: "withdrawal", over: { USD: "1.00" }, approvers: 1 };
    await made("PATCH", "/settings", { approval_rules: [rule] });
    const { account_id, client_id } = await fundedAccount(stack.api, "900.00");
    await made("PATCH", `/clients/${client_id}`, { first_name: "Ana", last_name: "Núñez" });
    const { body } = await stack.api.call<{ number: string }>("GET", `/accounts/${account_id}`);
    const destination = { iban: "PT50000201231234567890154", holder: "Eva Other" };
    const id = await made("POST", "/transactions/withdrawal", { account_id, amount: "650.00", destination });
    const page = await at("finance");
    await page
      .getByRole("link", { name: /^Approvals/ })
      .first()
      .click();
    const row = page.getByRole("row").filter({ hasText: "650.00" });
    await row.getByText("Ana Núñez").waitFor();
    await row.getByText(body.number).waitFor();
    await row.getByRole("link").click();
    const checks = page.locator(".opened .checks").first();
    await checks.getByText("250.00 USD").first().waitFor();
    const [first] = await checks.locator("li").allTextContents();
    expect(first).toBe("The holder is not the clientEva Other, not Ana Núñez");
    expect(await checks.locator("li").allTextContents()).toEqual(
      expect.arrayContaining([
        `Balance of account ${body.number}900.00 USD`,
        "Balance after250.00 USD",
        "Client is not verifiedUnverified",
      ]),
    );
    await page.getByRole("button", { name: "Approve 650.00 USD" }).click();
    await page.locator(".announcement").getByText("Approved 650.00 USD.").waitFor();
    expect((await stack.api.call("GET", `/transactions/${id}`)).body["status"]).toBe("approved");
  });
});

describe("compliance", () => {
  it("verifies one identity and rejects another, each as it was shown", async () => {
    const clients = await Promise.all(
      ["Verified", "Refused"].map((last_name) => made("POST", "/clients", { ...someClient(), last_name })),
    );
    const page = await at("compliance");
    await page.getByRole("link", { name: "Clients", exact: true }).click();
    await page.getByRole("link", { name: /Verified/ }).click();
    await page.getByRole("button", { name: "Verify identity" }).click();
    const dialog = page.getByRole("dialog");
    // A name that is corrected meanwhile is shown before anything is decided.
    await stack.api.call("PATCH", `/clients/${clients[0]}`, { body: { last_name: "Corrected" } });
    await dialog.getByLabel("Level").selectOption("full");
    await dialog.getByLabel("Ends on (optional)").fill("2031-05-06");
    await dialog.getByLabel("Reference (optional)").fill("case-17");
    await dialog.getByRole("button", { name: "Verify identity" }).click();
    await dialog.getByText(/Corrected \(was .*Verified when you opened this\)/).waitFor();
    await dialog.getByRole("button", { name: "Verify identity" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("Identity verified").waitFor();
    const { body } = await stack.api.call("GET", `/clients/${clients[0]}`);
    expect(body).toMatchObject({
      verification_status: "verified",
      verification: { level: "full", expires_at: "2031-05-06T00:00:00.000Z", reference: "case-17" },
    });

    await page.getByRole("link", { name: "Clients", exact: true }).first().click();
    await page.getByRole("link", { name: /Refused/ }).click();
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Reject identity" }).click();
    await dialog.getByRole("button", { name: "Reject identity" }).click();
    await dialog.getByText("is required").first().waitFor();
    await dialog.getByLabel("Document unreadable").check();
    await dialog.getByRole("button", { name: "Reject identity" }).click();
    await dialog.waitFor({ state: "detached" });
    expect((await stack.api.call("GET", `/clients/${clients[1]}`)).body).toMatchObject({
      verification_status: "rejected",
      verification: { rejection_reasons: ["document_unreadable"] },
    });
  });
});
