import { randomUUID } from "node:crypto";
import type { Credentials, Json } from "../api-call.ts";
import { must } from "./finding.ts";
import { functionOf, roleOf } from "./resources.ts";
import type { Session } from "./session.ts";

/** A second application of the same brokerage. */
export interface Application extends Credentials {
  readonly id: string;
  readonly token: string;
}

/** A client with an account. */
export interface Opened {
  readonly client: Json;
  readonly account: Json;
}

/** Amount of the deposit that is completed and withdrawn again. */
export const depositAmount = "100.00";

/** Resources of a brokerage for the checks; each part is made when the first check asks for it. */
export class Story {
  private readonly session: Session;
  private opened: Promise<Opened> | undefined;
  private deposited: Promise<Json> | undefined;

  constructor(session: Session) {
    this.session = session;
  }

  /** A client with an account. */
  open(): Promise<Opened> {
    this.opened ??= this.openAccount();
    return this.opened;
  }

  /** A completed deposit on that account. */
  deposit(): Promise<Json> {
    this.deposited ??= this.completeDeposit();
    return this.deposited;
  }

  /** Makes a webhook endpoint that is deleted at the end. */
  async endpoint(url: string, event_types: readonly string[]): Promise<Json> {
    const { session } = this;
    const named = [functionOf("create_webhook_endpoint"), roleOf("create_webhook_endpoint")];
    const { body } = await session.expect(201, "POST", "/webhook_endpoints", named, { body: { url, event_types } });
    const path = `/webhook_endpoints/${body.id}`;
    session.remember(`webhook endpoint ${body.id}`, async () => {
      await session.expect(200, "DELETE", path, [functionOf("delete_webhook_endpoint")]);
      return undefined;
    });
    return body;
  }

  /** Makes an application of this scope that is revoked at the end, and gets its token. */
  async application(scopes: readonly string[]): Promise<Application> {
    const { session } = this;
    const named = [functionOf("create_application"), functionOf("provision"), roleOf("provision")];
    const sent = { body: { name: "Smoke test", scopes } };
    const { body } = await session.expect(201, "POST", "/applications", named, sent);
    const { id, client_id, client_secret } = body;
    session.remember(`application ${id}`, async () => {
      await session.expect(200, "DELETE", `/applications/${id}`, [functionOf("revoke_application")]);
      return `application ${id}, revoked`;
    });
    const issued = await session.issue({ client_id, client_secret });
    return { id, client_id, client_secret, token: issued.body.access_token };
  }

  private async openAccount(): Promise<Opened> {
    const { session } = this;
    const person = { email: `smoke-${randomUUID()}@example.com`, first_name: "Smoke", last_name: "Test" };
    const named = [functionOf("create_client"), roleOf("create_client")];
    const client = (await session.expect(201, "POST", "/clients", named, { body: person })).body;
    session.remember(`client ${client.id}`, () => this.close("/clients", client.id, "closed"));
    const sent = { body: { client_id: client.id } };
    const forAccount = [functionOf("create_account"), roleOf("create_account")];
    const account = (await session.expect(201, "POST", "/accounts", forAccount, sent)).body;
    session.remember(`account ${account.id}`, async () => {
      await session.expect(200, "DELETE", `/accounts/${account.id}`, [functionOf("disable_account")]);
      return this.close("/accounts", account.id, "closed");
    });
    return { client, account };
  }

  /** Closes a client or an account for good; what was made stays readable, as everything with money does. */
  private async close(list: string, id: string, status: string): Promise<string> {
    const path = `${list}/${id}`;
    const reply = await this.session.call("PATCH", path, { body: { status } });
    const now = reply.status === 200 ? status : "not closed";
    return `${list.slice(1, -1)} ${id}, ${now}`;
  }

  private async completeDeposit(): Promise<Json> {
    const { session } = this;
    const { account } = await this.open();
    const sent = { body: { account_id: account.id, amount: depositAmount } };
    const named = [functionOf("create_deposit"), roleOf("create_deposit")];
    const deposit = (await session.expect(201, "POST", "/transactions/deposit", named, sent)).body;
    const done = await this.move(deposit.id, "completed");
    session.remember(`deposit ${deposit.id}`, async () => {
      const withdrawal = await session.expect(201, "POST", "/transactions/withdrawal", named, sent);
      await this.move(withdrawal.body.id, "approved");
      await this.move(withdrawal.body.id, "completed");
      return `deposit ${deposit.id} and its withdrawal ${withdrawal.body.id}, in the ledger of the account`;
    });
    return done;
  }

  /** Changes the status of a transaction by the role that may put ledger entries and change none. */
  private async move(id: string, status: string): Promise<Json> {
    const named = [roleOf("update_transaction"), functionOf("update_transaction")];
    const { body } = await this.session.expect(200, "PATCH", `/transactions/${id}`, named, { body: { status } });
    must(body?.status === status, `The transaction is ${body?.status} instead of ${status}`, named);
    return body;
  }
}
