import { describe, expect, it } from "vitest";
import { safeParse } from "zod/v4/core";
import { routes } from "../../shared/routes/index.ts";
import type { Route } from "../../shared/routes/route.ts";
import { newId } from "../../shared/runtime/ids.ts";
import { atOnce, brokerage, clientRequest, statusCounts } from "../support/builders/brokerage.ts";
import { newCaller } from "../support/emulator/request.ts";
import { api, broker, call, caller, expectManners, stranger } from "./resources-cases.ts";

const rowOf = (id: string) => routes.find((row) => row.id === id) as Route;

describe("a client", () => {
  it("is made with its address and tag, and read at once with the same bytes and the same tag", async () => {
    const made = await call("POST", "/clients", {
      body: clientRequest({ metadata: { b: "1", a: "2" }, tags: ["vip"] }),
    });
    expectManners(made);
    expect(made.status).toBe(201);
    expect(made.headers["Location"]).toBe(`https://api.test.example/v2/clients/${made.body.id}`);
    expect(safeParse(rowOf("create_client").reply, made.body).error?.issues ?? []).toEqual([]);
    for (let turn = 0; turn < 3; turn += 1) {
      const read = await call("GET", `/clients/${made.body.id}`);
      expectManners(read);
      expect([read.status, read.text, read.headers["ETag"]]).toEqual([200, made.text, made.headers["ETag"]]);
    }
  });

  it("is not sent again to who names its tag, and is when it has changed", async () => {
    const client = await broker.client();
    const address = `/clients/${client.id}`;
    const { headers } = await call("GET", address);
    const tag = headers["ETag"] ?? "";
    const same = await call("GET", address, { headers: { "If-None-Match": `"0", W/${tag}` } });
    expect([same.status, same.text, same.headers["ETag"]]).toEqual([304, "", tag]);
    await api.call(caller, "POST", "/accounts", { body: { client_id: client.id } });
    const changed = await call("GET", address, { headers: { "If-None-Match": tag } });
    expect(changed).toMatchObject({ status: 200, body: { account_count: 1, version: 1 } });
  });

  it("is changed by a merge patch: what is named changes, null removes, the rest stays", async () => {
    const client = await broker.client({
      phone: "+351912345678",
      metadata: { keep: "1", drop: "2" },
      address: { line1: "Rua A", line2: "2 Dto", city: "Porto", country: "PT" },
    });
    const { status, body, headers } = await call("PATCH", `/clients/${client.id}`, {
      body: {
        first_name: "Eva",
        phone: null,
        metadata: { drop: null, add: "3" },
        address: { line1: "Rua B", city: "Porto", country: "PT" },
      },
    });
    expect(status).toBe(200);
    expect(headers["ETag"]).toMatch(/^"2-/);
    expect(body).toEqual({
      ...client,
      name: "Eva Silva",
      first_name: "Eva",
      phone: null,
      metadata: { keep: "1", add: "3" },
      address: { line1: "Rua B", line2: "2 Dto", city: "Porto", country: "PT" },
      version: 2,
      updated_at: body.updated_at,
    });
    expect((await call("GET", `/clients/${client.id}`)).body).toEqual(body);
  });

  it("stays as it is after an empty patch, or one that says what is so", async () => {
    const client = await broker.client({ address: { line1: "Rua A", city: "Porto", country: "PT" } });
    for (const patch of [{}, { first_name: "Ana", address: { country: "PT", city: "Porto", line1: "Rua A" } }]) {
      const answer = await call("PATCH", `/clients/${client.id}`, { body: patch });
      expect([answer.status, answer.body]).toEqual([200, client]);
    }
  });

  it("is changed only from the version that If-Match names", async () => {
    const client = await broker.client();
    const patch = (header: string, name: string) =>
      call("PATCH", `/clients/${client.id}`, { body: { first_name: name }, headers: { "If-Match": header } });
    expect((await patch('"1"', "Eva")).status).toBe(200);
    const stale = await patch('"1"', "Ida");
    expect(stale).toMatchObject({ status: 412, body: { code: "precondition_failed" }, headers: { ETag: '"2"' } });
    expectManners(stale);
    expect((await patch('W/"2"', "Ida")).status).toBe(412);
    expect((await patch('"1", "2"', "Ida")).status).toBe(200);
    expect((await patch("*", "Mia")).status).toBe(200);
    const { headers } = await call("GET", `/clients/${client.id}`);
    expect((await patch(headers["ETag"] ?? "", "Zoe")).body).toMatchObject({ first_name: "Zoe", version: 5 });
  });

  it("loses none of 20 concurrent patches: each is applied or answered with a retry", async () => {
    const client = await broker.client();
    const answers = await atOnce(20, (index) =>
      call("PATCH", `/clients/${client.id}`, { body: { metadata: { [`k${index}`]: "v" } } }),
    );
    const done = answers.flatMap(({ status }, index) => (status === 200 ? [`k${index}`] : []));
    for (const { status, headers } of answers)
      if (status !== 200) expect([status, headers["Retry-After"]]).toEqual([503, "1"]);
    const { metadata, version } = await broker.get(`/clients/${client.id}`);
    expect([new Set(Object.keys(metadata)), version]).toEqual([new Set(done), 1 + done.length]);
  });

  it("is verified once, with the moment and the application", async () => {
    const client = await broker.client();
    const verify = () => call("PATCH", `/clients/${client.id}`, { body: { verification_status: "verified" } });
    const first = await verify();
    expect(first.body).toMatchObject({
      verification_status: "verified",
      verification: { level: "full", verified_by: caller.application_id },
      version: 2,
    });
    expect((await verify()).text).toBe(first.text);
  });
});

describe("what is unique in a tenant", () => {
  it("is an email, however it is written", async () => {
    const client = await broker.client();
    const again = await call("POST", "/clients", {
      body: clientRequest({ email: ` ${client.email.toUpperCase()} ` }),
    });
    expect(again).toMatchObject({ status: 409, body: { code: "email_taken", errors: [{ pointer: "#/email" }] } });
    expectManners(again);
    const other = brokerage(api, newCaller());
    expect(await other.client({ email: client.email })).toMatchObject({ email: client.email });
  });

  it("is one of 30 clients with one email at once", async () => {
    const body = clientRequest();
    const answers = await atOnce(30, () => call("POST", "/clients", { body }));
    expect(statusCounts(answers)).toEqual({ 201: 1, 409: 29 });
  });

  it("is free again when it is given up: email by a patch or by closing, external id by a patch", async () => {
    const first = await broker.client({ external_id: "crm-1" });
    await call("PATCH", `/clients/${first.id}`, { body: { email: "moved@example.com", external_id: null } });
    const second = await broker.client({ email: first.email, external_id: "crm-1" });
    const back = await call("PATCH", `/clients/${first.id}`, { body: { email: first.email } });
    expect(back).toMatchObject({ status: 409, body: { code: "email_taken" } });
    await call("PATCH", `/clients/${second.id}`, { body: { status: "closed" } });
    expect((await call("PATCH", `/clients/${first.id}`, { body: { email: first.email } })).status).toBe(200);
    const taken = await call("PATCH", `/clients/${first.id}`, { body: { external_id: "crm-1" } });
    expect(taken).toMatchObject({ status: 409, body: { code: "external_id_taken" } });
  });

  it("is the number of an account, and its login on one platform", async () => {
    const client = await broker.client();
    const open = (more: object) => call("POST", "/accounts", { body: { client_id: client.id, ...more } });
    expect((await open({ number: "12345678", platform: "mt5", platform_login: "7" })).status).toBe(201);
    expect(await open({ number: "12345678" })).toMatchObject({ status: 409, body: { code: "number_taken" } });
    expect(await open({ platform: "mt5", platform_login: "7" })).toMatchObject({
      body: { code: "platform_login_taken" },
    });
    expect((await open({ platform: "mt4", platform_login: "7" })).status).toBe(201);
  });

  it("is the external id of a transaction, and a reference of one provider, until it ends without money", async () => {
    const account = await broker.account();
    const more = { external_id: "x-1", provider: "psp", provider_reference: "r-1" };
    const deposit = await broker.deposit(account, "1.00", more);
    const again = (body: object) =>
      call("POST", "/transactions/deposit", { body: { account_id: account.id, amount: "1.00", ...body } });
    expect(await again({ external_id: "x-1" })).toMatchObject({ status: 409, body: { code: "external_id_taken" } });
    expect(await again({ provider: "psp", provider_reference: "r-1" })).toMatchObject({
      status: 409,
      body: { code: "duplicate_provider_reference" },
    });
    expect((await again({ provider: "other", provider_reference: "r-1" })).status).toBe(201);
    await broker.move(deposit, "cancelled");
    expect((await again(more)).status).toBe(201);
  });
});

describe("an account", () => {
  it("is made for a client that exists, and read at once with the same bytes and the same tag", async () => {
    const client = await broker.client();
    const made = await call("POST", "/accounts", { body: { client_id: client.id } });
    expectManners(made);
    expect(safeParse(rowOf("create_account").reply, made.body).error?.issues ?? []).toEqual([]);
    const read = await call("GET", `/accounts/${made.body.id}`);
    expect([read.text, read.headers["ETag"]]).toEqual([made.text, made.headers["ETag"]]);
    expect(made.body.number).toMatch(/^[1-9]\d{7}$/);
    expect((await broker.get(`/clients/${client.id}`)).account_count).toBe(1);
  });

  it("has another tag when its money moved, though its version did not", async () => {
    const account = await broker.account();
    const before = await call("GET", `/accounts/${account.id}`);
    await broker.deposit(account, "5.00", { status: "completed" });
    const after = await call("GET", `/accounts/${account.id}`);
    expect(after.body.version).toBe(before.body.version);
    expect(after.headers["ETag"]).not.toBe(before.headers["ETag"]);
  });

  it("is refused for an unknown client, one of another tenant, suspended or closed", async () => {
    const open = (id: string) => call("POST", "/accounts", { body: { client_id: id } });
    const foreign = await brokerage(api, stranger).client();
    for (const id of [newId("cli"), foreign.id]) {
      expect(await open(id)).toMatchObject({ status: 422, body: { code: "client_not_found" } });
    }
    const client = await broker.client();
    await call("PATCH", `/clients/${client.id}`, { body: { status: "suspended" } });
    expect(await open(client.id)).toMatchObject({ status: 409, body: { code: "client_suspended" } });
    await call("PATCH", `/clients/${client.id}`, { body: { status: "closed" } });
    expect(await open(client.id)).toMatchObject({ status: 409, body: { code: "client_closed" } });
  });

  it("keeps its client from closing, and 50 is the most that a client has, also when they come at once", async () => {
    const client = await broker.client();
    const answers = await atOnce(55, () => call("POST", "/accounts", { body: { client_id: client.id } }));
    const opened = statusCounts(answers)[201] ?? 0;
    expect(opened).toBeLessThanOrEqual(50);
    const { account_count } = await broker.get(`/clients/${client.id}`);
    expect(account_count).toBe(opened);
    const closing = await call("PATCH", `/clients/${client.id}`, { body: { status: "closed" } });
    expect(closing).toMatchObject({ status: 409, body: { code: "client_has_open_accounts" } });
  });

  it("and the closing of its client never both succeed", async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      const client = await broker.client();
      const [open, close] = await Promise.all([
        call("POST", "/accounts", { body: { client_id: client.id } }),
        call("PATCH", `/clients/${client.id}`, { body: { status: "closed" } }),
      ]);
      expect([open.status, close.status].filter((status) => status < 300)).toHaveLength(1);
    }
  });
});

describe("a withdrawal of a suspended client", () => {
  it("is refused, while a deposit is not", async () => {
    const account = await broker.account("10.00");
    await call("PATCH", `/clients/${account.client_id}`, { body: { status: "suspended" } });
    const body = { account_id: account.id, amount: "1.00" };
    expect(await call("POST", "/transactions/withdrawal", { body })).toMatchObject({
      status: 409,
      body: { code: "client_suspended" },
    });
    expect((await call("POST", "/transactions/deposit", { body })).status).toBe(201);
  });
});

describe("a transaction", () => {
  it("is made with its address, and read at once with the same bytes and the same tag", async () => {
    const account = await broker.account();
    const made = await call("POST", "/transactions/deposit", {
      body: {
        account_id: account.id,
        amount: "5",
        source: { iban: "DE89370400440532013000" },
        metadata: { b: "1", a: "2" },
      },
    });
    expectManners(made);
    expect(made.headers["Location"]).toBe(`https://api.test.example/v2/transactions/${made.body.id}`);
    expect(made.headers["ETag"]).toBe('"1"');
    expect(safeParse(rowOf("create_deposit").reply, made.body).error?.issues ?? []).toEqual([]);
    expect(made.body.source).toEqual({ iban: "****3000" });
    expect((await call("GET", `/transactions/${made.body.id}`)).text).toBe(made.text);
  });

  it("is refused on an unknown account and on one of another tenant", async () => {
    const foreign = await brokerage(api, stranger).account("10.00");
    for (const id of [newId("acc"), foreign.id]) {
      for (const kind of ["deposit", "withdrawal"]) {
        const answer = await call("POST", `/transactions/${kind}`, { body: { account_id: id, amount: "1" } });
        expect(answer).toMatchObject({ status: 422, body: { code: "account_not_found" } });
      }
    }
  });

  it("is moved only from the version that If-Match names", async () => {
    const deposit = await broker.deposit(await broker.account(), "1.00");
    const move = (header: string) =>
      call("PATCH", `/transactions/${deposit.id}`, { body: { status: "completed" }, headers: { "If-Match": header } });
    expect((await move('"2"')).status).toBe(412);
    expect((await move('"1"')).status).toBe(200);
  });
});
