import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { leave, settled, sharedBrowser, type Visit, visitAs } from "../support/browser/browser.ts";
import { fundedAccount } from "../support/stack/api-client.ts";
import { newOperator, type OperatorUser } from "../support/stack/operator-user.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";

let stack: Stack;
let browser: Browser;
const shared = sharedBrowser();
let owners: readonly OperatorUser[];
const visits: Visit[] = [];

beforeAll(async () => {
  [stack, browser] = await Promise.all([sharedStack(), shared.start()]);
  owners = await Promise.all([newOperator(stack, "owner"), newOperator(stack, "owner")]);
  visits.push(...(await Promise.all(owners.map((owner) => visitAs(browser, stack.cloud.dashboardUrl ?? "", owner)))));
});
afterEach(() => expect(visits.flatMap(({ faults }) => faults)).toEqual([]));
afterAll(async () => {
  await leave(visits);
  await shared.stop();
  await stack?.stop();
});

type Resource = Readonly<Record<string, unknown>>;

async function call(method: string, path: string, body?: object): Promise<Resource & { readonly id: string }> {
  const reply = await stack.api.call<Resource & { id: string }>(method, path, body === undefined ? {} : { body });
  expect(reply.status, reply.text).toBeLessThan(300);
  return reply.body;
}

/** A form: where it is, its resource, a member that both people change, and one that the other changes alone. */
interface Form {
  readonly api: string;
  readonly address: string;
  /** Words of the buttons that lead to the form. */
  readonly buttons: readonly string[];
  readonly both: readonly [label: string, member: string, theirs: string, mine: string];
  readonly other: readonly [label: string, member: string, theirs: string, stored?: unknown];
}

/** Each resource that the dashboard edits, made for the test. */
const forms: Readonly<Record<string, () => Promise<Form>>> = {
  "a client": async () => {
    const { client_id } = await fundedAccount(stack.api, "10.00");
    return {
      ...{ api: `/clients/${client_id}`, address: `/clients/${client_id}`, buttons: ["Edit"] },
      both: ["Phone (optional)", "phone", "+351210000001", "+351210000002"],
      other: ["Status", "status", "suspended"],
    };
  },
  "an account": async () => {
    const { account_id } = await fundedAccount(stack.api, "10.00");
    return {
      ...{ api: `/accounts/${account_id}`, address: `/accounts/${account_id}`, buttons: ["More", "Edit"] },
      both: ["Name (optional)", "name", "Theirs", "Mine"],
      other: ["Trading", "trading_mode", "close_only"],
    };
  },
  "an application": async () => {
    const { id } = await call("POST", "/applications", { name: "Edited", scopes: ["clients:read", "events:read"] });
    return {
      ...{ api: `/applications/${id}`, address: `/settings/api/${id}`, buttons: ["Edit"] },
      both: ["Name", "name", "Theirs", "Mine"],
      other: ["Allowed addresses", "allowed_ips", "203.0.113.7", ["203.0.113.7"]],
    };
  },
  "the settings": async () => ({
    ...{ api: "/settings", address: "/settings", buttons: ["Edit"] },
    both: ["Days until an undecided transaction expires", "transaction_expiry_days", "11", "12"],
    other: ["Default leverage", "default_leverage", "20", 20],
  }),
  "an operator": async () => {
    const { id } = await newOperator(stack, "viewer");
    return {
      ...{ api: `/operators/${id}`, address: `/operators?open=${id}`, buttons: ["Edit"] },
      both: ["Name", "name", "Theirs", "Mine"],
      other: ["Role", "role", "support"],
    };
  },
  "an endpoint": async () => {
    const { id } = await call("POST", "/webhook_endpoints", { url: "http://127.0.0.1:9/hook", event_types: ["*"] });
    await call("PATCH", `/webhook_endpoints/${id}`, { status: "disabled" });
    return {
      ...{ api: `/webhook_endpoints/${id}`, address: `/webhooks/${id}`, buttons: ["More", "Edit"] },
      both: ["Description (optional)", "description", "Theirs", "Mine"],
      other: ["URL", "url", "http://127.0.0.1:9/other"],
    };
  },
};

async function openForm(page: Page, { address, buttons }: Form): Promise<void> {
  await page.evaluate(`history.pushState(null, "", ${JSON.stringify(address)})`);
  await settled(page);
  for (const name of buttons) await page.getByRole("main").getByRole("button", { name, exact: true }).click();
  await page.getByRole("dialog").waitFor();
}

async function enter(page: Page, label: string, value: string): Promise<void> {
  const field = page.getByRole("dialog").getByLabel(label, { exact: true });
  if (await field.evaluate((one) => one.tagName === "SELECT")) await field.selectOption(value);
  else await field.fill(value);
}

const save = (page: Page) => page.getByRole("dialog").getByRole("button", { name: "Save" }).click();

describe("two people who edit the same", () => {
  it.each(Object.keys(forms))(
    "lose nothing of each other on %s, and the second one is shown both values",
    async (name) => {
      const form = (await forms[name]?.()) as Form;
      const [mine, theirs] = visits.map(({ page }) => page) as [Page, Page];
      await openForm(mine, form);
      await openForm(theirs, form);
      const [label, member, theirValue, myValue] = form.both;
      const [otherLabel, otherMember, otherValue, stored = otherValue] = form.other;
      await enter(theirs, label, theirValue);
      await enter(theirs, otherLabel, otherValue);
      await save(theirs);
      await theirs.getByRole("dialog").waitFor({ state: "detached" });

      await enter(mine, label, myValue);
      await save(mine);
      const dialog = mine.getByRole("dialog");
      await dialog.getByRole("alert").getByText("Somebody else has changed this").waitFor();
      await dialog.getByText(`${theirValue}” now`).waitFor();
      expect(await dialog.locator(".field-note").count()).toBe(2);
      expect(await dialog.getByLabel(label, { exact: true }).inputValue()).toBe(myValue);
      expect(String((await call("GET", form.api))[member])).toBe(theirValue);

      await save(mine);
      await dialog.waitFor({ state: "detached" });
      const now = await call("GET", form.api);
      expect(String(now[member])).toBe(myValue);
      expect(now[otherMember]).toEqual(stored);
    },
  );

  it("may take the value of the other one in place of their own", async () => {
    const form = (await forms["an account"]?.()) as Form;
    const [mine] = visits.map(({ page }) => page) as [Page];
    await openForm(mine, form);
    await call("PATCH", form.api, { name: "Theirs", leverage: 5 });
    await enter(mine, "Name (optional)", "Mine");
    await enter(mine, "Trading", "none");
    await save(mine);
    const dialog = mine.getByRole("dialog");
    await dialog.locator(".field-note", { hasText: "Theirs" }).getByRole("button", { name: "Take it" }).click();
    await save(mine);
    await dialog.waitFor({ state: "detached" });
    expect(await call("GET", form.api)).toMatchObject({ name: "Theirs", leverage: 5, trading_mode: "none" });
  });

  it("are not asked about what the form does not show", async () => {
    const form = (await forms["a client"]?.()) as Form;
    const [mine] = visits.map(({ page }) => page) as [Page];
    await openForm(mine, form);
    await call("PATCH", form.api, { tags: ["vip"] });
    await enter(mine, "Phone (optional)", "+351210000009");
    await save(mine);
    await mine.getByRole("dialog").waitFor({ state: "detached" });
    expect(await call("GET", form.api)).toMatchObject({ phone: "+351210000009", tags: ["vip"] });
  });
});
