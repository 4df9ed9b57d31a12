import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  applicationBody,
  draftApplication,
  operatorsBehind,
  registerApplication,
  rotateSecret,
} from "../../../shared/domain/access/application.ts";
import type { Actor, Context } from "../../../shared/domain/kernel/decision.ts";
import { moveTransaction } from "../../../shared/domain/money/move.ts";
import type { Application } from "../../../shared/domain/records/application.ts";
import type { Transaction } from "../../../shared/domain/records/transaction.ts";
import { type Role, scopesOf } from "../../../shared/roles.ts";
import type { TransactionState } from "../../../shared/schema/transaction.ts";
import { accepted, activeGivers, decisionContext, decisionTime, tenantId } from "../../support/builders/decisions.ts";
import { standing } from "../transaction-cases.ts";

const scopes = scopesOf("owner", "production");
const names = ["Ana", "Eva", "Tom"] as const;

const person = (name: string, role: Role = "owner"): Context =>
  decisionContext({ actor: { type: "operator", id: `opr_${name}`, name }, role, scopes });

/** Context of an application, from what the authorizer reads of it. */
function actingAs(application: Application): Context {
  const { id, name } = application;
  const operator_ids = operatorsBehind(application);
  const actor: Actor = { type: "application", id, name, ...(operator_ids.length > 0 && { operator_ids }) };
  return decisionContext({ actor, scopes });
}

const drawn = { secret: "s", sha256: "00", client_id: "cid", api_key_seed: "seed" };
let made = 0;

function applicationOf(maker: Context): Context & { readonly application: Application } {
  made += 1;
  const id = `app_${made}`;
  const asked = { ...maker, newId: () => id };
  const { application } = accepted(
    registerApplication({ name: id, scopes: [...scopes] }, { tenant: { applications: 1 }, sources: {} }, drawn, asked),
  ).result;
  return { ...actingAs(application), application };
}

const byTerminal = actingAs(
  draftApplication(
    { tenant_id: tenantId, environment: "sandbox", name: "CRM", scopes, allowed_ips: [] },
    { id: "app_terminal", client_id: "cid", secret_sha256: "00", api_key_seed: "seed", now: decisionTime },
  ),
);

/** A person in all their forms: by name, by an application of theirs, and by one that this application made. */
function formsOf(name: string): readonly [Context, Context, Context] {
  const one = person(name);
  const application = applicationOf(one);
  return [one, application, applicationOf(application)];
}

const forms = Object.fromEntries(names.map((name) => [name, formsOf(name)])) as Record<string, readonly Context[]>;
const steps = fc.array(
  fc.record({
    form: fc.nat({ max: 2 }),
    to: fc.constantFrom<TransactionState>("approved", "approved", "processing", "completed"),
  }),
  { minLength: 1, maxLength: 8 },
);

/** The transaction after these moves; what is refused changes nothing. */
function decided(
  maker: Context,
  policy: object,
  moves: readonly (readonly [Context, TransactionState])[],
): Transaction {
  const { transaction, accountContext } = standing("withdrawal", "pending");
  const ruled = { ...accountContext, tenant: { ...accountContext.tenant, ...policy } };
  return moves.reduce<Transaction>(
    (now, [by, status]) => {
      const decision = moveTransaction(now, { ...ruled, givers: activeGivers(now) }, { status }, by);
      return decision.ok ? decision.result : now;
    },
    { ...transaction, created_by: maker.actor },
  );
}

const ofTwo = { approval_rules: [{ kind: "withdrawal" as const, over: { USD: "5.00" }, approvers: 2 }] };
const ofOne = { approval_rules: [{ kind: "withdrawal" as const, over: { USD: "5.00" }, approvers: 1 }] };
const fourEyes = { four_eyes: true };

describe("one person with all their applications", () => {
  it("never settles a transaction under a rule of two, of any maker, in any order of decisions", () => {
    const given = {
      maker: fc.tuple(fc.constantFrom(...names), fc.nat({ max: 2 })),
      terminal: fc.boolean(),
      decider: fc.constantFrom(...names),
      steps,
    };
    let approvals = 0;
    fc.assert(
      fc.property(fc.record(given), ({ maker: [name, form], terminal, decider, steps: moves }) => {
        const by = terminal ? byTerminal : (forms[name]?.[form] ?? byTerminal);
        const end = decided(
          by,
          ofTwo,
          moves.map(({ form: at, to }) => [forms[decider]?.[at] ?? byTerminal, to]),
        );
        approvals += end.approvals?.length ?? 0;
        expect(end.status).toBe("pending");
        expect(end.approvals ?? []).toHaveLength(Math.min(1, end.approvals?.length ?? 0));
      }),
      { numRuns: 2000 },
    );
    expect(approvals).toBeGreaterThan(200);
  });

  it.each([
    ["a rule of one", ofOne],
    ["four eyes", fourEyes],
  ])("never settles what they made themselves under %s", (_, policy) => {
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.nat({ max: 2 }), steps, (name, form, moves) => {
        const all = forms[name] ?? [];
        const end = decided(
          all[form] ?? byTerminal,
          policy,
          moves.map(({ form: at, to }) => [all[at] ?? byTerminal, to]),
        );
        expect(end.status).toBe("pending");
      }),
      { numRuns: 1000 },
    );
  });

  it("settles it with another person, and where a terminal made the application", () => {
    const [ana = byTerminal, itsApplication = byTerminal] = forms["Ana"] ?? [];
    const [eva = byTerminal, tom = byTerminal] = [forms["Eva"]?.[0], forms["Tom"]?.[0]];
    const paid = [[tom, "completed"]] as const;
    expect(decided(itsApplication, ofTwo, [[eva, "approved"], [tom, "approved"], ...paid]).status).toBe("completed");
    expect(decided(itsApplication, fourEyes, [[eva, "approved"], ...paid]).status).toBe("completed");
    expect(decided(byTerminal, fourEyes, [[itsApplication, "approved"], ...paid]).status).toBe("completed");
    expect(decided(ana, fourEyes, [[byTerminal, "approved"], ...paid]).status).toBe("completed");
  });
});

describe("the people behind an application", () => {
  it("are its maker and those who were shown a secret, until a later rotation takes it away", () => {
    const { application } = applicationOf(person("Ana"));
    const rotated = (from: Application, by: Context, grace_seconds: number) =>
      accepted(rotateSecret({ ...from, previous_secret_expires_at: null }, { grace_seconds }, drawn, by)).result
        .application;
    const byEva = rotated(application, person("Eva"), 60);
    const byTom = rotated(byEva, person("Tom"), 60);
    const again = rotated(byTom, person("Tom"), 0);
    expect([application, byEva, byTom, again].map(operatorsBehind)).toEqual([
      ["opr_Ana"],
      ["opr_Ana", "opr_Eva"],
      ["opr_Ana", "opr_Tom", "opr_Eva"],
      ["opr_Ana", "opr_Tom"],
    ]);
    expect(applicationBody(byEva)).toMatchObject({
      created_by: { type: "operator", id: "opr_Ana", name: "Ana" },
      operator_ids: ["opr_Ana", "opr_Eva"],
    });
  });

  it("are none where a terminal made it, until an operator is shown a secret", () => {
    const made = draftApplication(
      { tenant_id: tenantId, environment: "sandbox", name: "CRM", scopes, allowed_ips: [] },
      { id: "app_1", client_id: "cid", secret_sha256: "00", api_key_seed: "seed", now: decisionTime },
    );
    expect([applicationBody(made).created_by, operatorsBehind(made)]).toEqual([null, []]);
    const shown = accepted(rotateSecret(made, {}, drawn, person("Eva"))).result.application;
    expect(operatorsBehind(shown)).toEqual(["opr_Eva"]);
  });
});
