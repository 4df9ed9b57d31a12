import { describe, expect, it } from "vitest";
import { refuseTerms } from "../../../shared/domain/accounts/account.ts";
import type { CreateAccount, UpdateAccount } from "../../../shared/schema/account.ts";
import { CreateAccountRequest, UpdateAccountRequest } from "../../../shared/schema/account.ts";
import { allScopesBut, decisionContext } from "../../support/builders/decisions.ts";

/** Members that support sets too; every other member of the requests is one of the terms. */
const free = ["client_id", "number", "type", "currency", "name", "metadata", "status", "disabled_reason"];

const terms = [
  ...["leverage", "force", "margin_call_level", "stop_out_level", "margin_rearm_level", "stop_out_order"],
  ...["stop_out_mode", "margin_calculation", "position_mode", "trading_mode", "group_id", "swap_free"],
  ...["negative_balance_protection", "client_money", "platform", "platform_login", "source_id"],
];

const naming = (...names: string[]) => Object.fromEntries(names.map((name) => [name, null])) as never;
const without = decisionContext({ scopes: allScopesBut("accounts:terms") });

describe("the terms of an account", () => {
  it("are all that a request may name but what opens, names and tags it", () => {
    const members = [...Object.keys(CreateAccountRequest.shape), ...Object.keys(UpdateAccountRequest.shape)];
    expect([...new Set(members)].toSorted()).toEqual([...terms, ...free].toSorted());
  });

  it.each(terms)("are refused without their scope: %s, also as null", (name) => {
    expect(refuseTerms(naming("name", name), without)?.refusal).toMatchObject({
      ...{ code: "insufficient_scope", extra: { scope: "accounts:terms" } },
      errors: [{ pointer: `#/${name}`, code: "insufficient_scope" }],
    });
    expect(refuseTerms(naming(name), decisionContext())).toBeUndefined();
  });

  it("are named all at once, and what is none of them is let through", () => {
    const { errors } = refuseTerms(naming(...free, ...terms), without)?.refusal ?? {};
    expect(errors?.map(({ pointer }) => pointer).toSorted()).toEqual(terms.map((name) => `#/${name}`).toSorted());
    const request: CreateAccount & UpdateAccount = naming(...free);
    expect(refuseTerms(request, without)).toBeUndefined();
  });
});
