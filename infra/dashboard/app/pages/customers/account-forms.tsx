import { useRouter } from "@tanstack/react-router";
import { command } from "../../api/client.ts";
import type { Schemas } from "../../api/types.ts";
import { FormDialog, textOf } from "../../parts/form-dialog.tsx";
import { useMay } from "../../session/caller.ts";

type Account = Schemas["TradingAccount"];

const leverageField = {
  ...{ name: "leverage", label: "Leverage", optional: true, placeholder: "100" },
  help: "Without it that of the settings.",
} as const;

/** Opens an account for a client. A person without the scope for terms opens it on those of the settings. */
export function CreateAccount({ clientId, onClose }: { readonly clientId: string; readonly onClose: () => void }) {
  const { history } = useRouter();
  const may = useMay();
  return (
    <FormDialog<Account>
      title="Open account"
      fields={[
        { name: "type", label: "Kind", kind: "choice", values: ["live", "demo"], first: "live" },
        { name: "currency", label: "Currency", first: "USD" },
        ...(may("accounts:terms") ? [leverageField] : []),
        { name: "name", label: "Name", optional: true },
      ]}
      submit="Open"
      run={(entered, key) => {
        const leverage = textOf(entered, "leverage");
        const name = textOf(entered, "name");
        return command("POST", "/accounts", {
          key,
          body: {
            client_id: clientId,
            type: textOf(entered, "type"),
            currency: textOf(entered, "currency"),
            ...(leverage && { leverage: Number(leverage) }),
            ...(name && { name }),
          },
        });
      }}
      onDone={({ id }) => history.push(`/accounts/${id}`)}
      onClose={onClose}
    />
  );
}

const methods = ["bank_transfer", "card", "crypto", "e_wallet", "cash", "internal", "other"] as const;

interface MoneyFormProps {
  readonly account: Account;
  readonly kind: "deposit" | "withdrawal";
  readonly onClose: () => void;
}

/** Requests a deposit to an account or a withdrawal from it. */
export function RequestMoney({ account, kind, onClose }: MoneyFormProps) {
  const word = kind === "deposit" ? "Deposit" : "Withdraw";
  const path = kind === "deposit" ? "/transactions/deposit" : "/transactions/withdrawal";
  const place = kind === "deposit" ? "source" : "destination";
  return (
    <FormDialog
      title={`${word}: account ${account.number}`}
      fields={[
        { name: "amount", label: `Amount in ${account.currency}`, placeholder: "100.00" },
        { name: "method", label: "Method", kind: "choice", values: methods, first: "bank_transfer" },
        { name: "iban", label: kind === "deposit" ? "From IBAN" : "To IBAN", optional: true },
        { name: "fee", label: "Fee", optional: true, placeholder: "0.00" },
        { name: "external_id", label: "Your reference", optional: true },
      ]}
      submit={(entered) => `${word} ${textOf(entered, "amount") ?? ""} ${account.currency}`}
      run={(entered, key) => {
        const [iban, fee, external_id] = ["iban", "fee", "external_id"].map((name) => textOf(entered, name));
        return command("POST", path, {
          key,
          body: {
            account_id: account.id,
            amount: textOf(entered, "amount") ?? "",
            method: textOf(entered, "method"),
            ...(iban && { [place]: { iban } }),
            ...(fee && { fee }),
            ...(external_id && { external_id }),
          },
        });
      }}
      onClose={onClose}
    />
  );
}
