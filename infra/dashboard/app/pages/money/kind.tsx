import { inWords } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";

const inward = new Set(["deposit", "transfer_in", "credit_in", "dividend"]);
const outward = new Set(["withdrawal", "transfer_out", "credit_out", "fee", "commission"]);

/** The kind of a transaction with an arrow for its direction; money has no colour. */
export function Kind({ kind }: { readonly kind: string }) {
  return (
    <span className="with-icon" title={kind}>
      {inward.has(kind) && <Icon name="in" small />}
      {outward.has(kind) && <Icon name="out" small />}
      {inWords(kind)}
    </span>
  );
}

/** Whether money leaves an account by this kind. */
export function isOutward(kind: string): boolean {
  return outward.has(kind);
}
