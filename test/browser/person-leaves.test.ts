import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { accessToken } from "../../infra/tools/api-call.ts";
import { leave, open, settled, sharedBrowser, type Visit, visitAs } from "../support/browser/browser.ts";
import { newOperator, type OperatorUser } from "../support/stack/operator-user.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";

let stack: Stack;
let browser: Browser;
const shared = sharedBrowser();
let people: Readonly<Record<"owner" | "developer", OperatorUser>>;
const visits: Visit[] = [];

beforeAll(async () => {
  [stack, browser] = await Promise.all([sharedStack(), shared.start()]);
  const [owner, developer] = await Promise.all([newOperator(stack, "owner"), newOperator(stack, "developer")]);
  people = { owner, developer };
});
afterEach(async () => expect(await leave(visits)).toEqual([]));
afterAll(async () => {
  await shared.stop();
  await stack?.stop();
});

/** The dashboard in a browser of this person's own. */
async function at(role: keyof typeof people, address: string): Promise<Page> {
  const visited = await visitAs(browser, stack.cloud.dashboardUrl ?? "", people[role], address);
  visits.push(visited);
  return visited.page;
}

/** The secret that a dialog shows, which is then said to be stored. */
async function storeSecret(page: Page): Promise<{ client_id: string; client_secret: string }> {
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Copy the secret now.").waitFor();
  const [client_id = "", client_secret = ""] = await dialog.locator(".copy-box code").allTextContents();
  await dialog.getByLabel("I have stored the secret").check();
  await dialog.getByRole("button", { name: "Done" }).click();
  return { client_id, client_secret };
}

async function makeApplication(page: Page, name: string) {
  await page.getByRole("button", { name: "Create Application" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByLabel("clients:read").check();
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  return storeSecret(page);
}

/** Whether a secret still gets a token. */
const works = (secret: { client_id: string; client_secret: string }) =>
  accessToken(stack.cloud.baseUrl, secret).then(
    () => true,
    () => false,
  );

describe("a person who leaves", () => {
  it("is lowered, then suspended, each after what they know was ended in the same dialog", async () => {
    const theirs = await at("developer", "/settings/api");
    const [crm, reports] = [await makeApplication(theirs, "CRM"), await makeApplication(theirs, "Reports")];
    const page = await at("owner", "/");
    await open(page, `/operators?open=${people.developer.id}`);
    const handover = () =>
      stack.api.call<{ applications: { name: string }[] }>("GET", `/operators/${people.developer.id}/handover`);
    const names = async () => (await handover()).body.applications.map(({ name }) => name).toSorted();
    expect(await names()).toEqual(["CRM", "Reports"]);

    // A role that lacks a scope shows the list; the way through another dialog keeps what was chosen.
    await page.getByRole("button", { name: "Edit" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Dana");
    expect(await dialog.getByRole("button", { name: "Rotate CRM" }).count()).toBe(0);
    await dialog.getByLabel("Role").selectOption("viewer");
    await dialog.getByRole("button", { name: "Rotate CRM" }).click();
    await dialog.getByText("The previous secret ends").waitFor();
    // Escape ends the dialog in front alone.
    await page.keyboard.press("Escape");
    await dialog.getByRole("button", { name: "Rotate CRM" }).click();
    await dialog.getByRole("button", { name: "Rotate", exact: true }).click();
    const rotated = await storeSecret(page);
    await dialog.getByRole("button", { name: "Rotate Reports" }).waitFor();
    await dialog.getByRole("button", { name: "Rotate CRM" }).waitFor({ state: "detached" });
    expect([await dialog.getByLabel("Name").inputValue(), await dialog.getByLabel("Role").inputValue()]).toEqual([
      "Dana",
      "viewer",
    ]);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    expect([await works(crm), await works(rotated), await works(reports)]).toEqual([false, true, true]);

    await settled(page);
    await page.getByRole("button", { name: "Suspend" }).click();
    await dialog.getByRole("button", { name: "Revoke Reports" }).click();
    await dialog.getByText("This cannot be undone.").waitFor();
    await dialog.getByRole("button", { name: "Revoke", exact: true }).click();
    await dialog.getByText("They know the secret of no application.").waitFor();
    await dialog.getByRole("button", { name: "Suspend" }).click();
    await dialog.waitFor({ state: "detached" });
    expect([await names(), await works(reports), await works(rotated)]).toEqual([[], false, true]);
    const { body } = await stack.api.call("GET", `/operators/${people.developer.id}`);
    expect(body).toMatchObject({ name: "Dana", role: "viewer", status: "suspended" });

    // Their own browser, which is still open, makes no other application.
    await theirs.getByRole("button", { name: "Create Application" }).first().click();
    const last = theirs.getByRole("dialog");
    await last.getByLabel("Name").fill("Late");
    await last.getByLabel("clients:read").check();
    await last.getByRole("button", { name: "Create", exact: true }).click();
    await theirs.getByRole("alert").first().waitFor();
    const { data } = (await stack.api.call<{ data: { name: string }[] }>("GET", "/applications")).body;
    expect(data.map(({ name }) => name)).not.toContain("Late");
  });
});
