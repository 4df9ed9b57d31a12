import type { CurrencyCode } from "../currencies.ts";
import type { Refusal } from "../domain/kernel/decision.ts";
import { HttpProblem } from "../http/problem.ts";

type Query = Readonly<Record<string, string | undefined>>;

/** For whom margin is asked for: an account, or the leverage and the currency of one. */
export type MarginTerms =
  | { readonly account_id: string }
  | { readonly leverage: number; readonly currency: CurrencyCode };

/**
 * The terms that a query names.
 * @throws HttpProblem `invalid_parameter` when they are neither the one nor the other
 */
export function marginTerms(query: Query): MarginTerms {
  const { account_id, leverage, currency } = query;
  if (account_id !== undefined && leverage === undefined && currency === undefined) return { account_id };
  if (account_id === undefined && leverage !== undefined && currency !== undefined) {
    return { leverage: Number(leverage), currency: currency as CurrencyCode };
  }
  const detail = "must be given, or leverage and currency in its place";
  throw new HttpProblem("invalid_parameter", "A query parameter is not valid.", {
    errors: [{ parameter: "account_id", code: "required", detail }],
  });
}

/** A refusal of what a query asks: a fault of a field is one of the parameter of its name. */
export function refusedParameter({ code, detail, errors = [] }: Refusal): HttpProblem {
  const named = errors.map((error) => ({ parameter: error.pointer.slice(2), code: error.code, detail: error.detail }));
  if (code === "validation_failed") {
    return new HttpProblem("invalid_parameter", "A query parameter is not valid.", { errors: named });
  }
  return new HttpProblem(code, detail, { errors: named });
}
