import { Button, Checkbox, TextInput } from "@mantine/core";
import { command, read } from "../../api/client.ts";
import type { Schemas } from "../../api/types.ts";
import { EditDialog } from "../../parts/edit-dialog.tsx";
import { type Field, wordsOf } from "../../parts/form-dialog.tsx";
import { inWords } from "../../parts/format.ts";
import { Select } from "../../parts/select.tsx";
import { useCaller } from "../../session/caller.ts";
import type { Rule } from "../money/approval-rule.ts";
import { roleScopes, roleWords } from "./scopes.ts";

type Settings = Schemas["Settings"];

type Amount = readonly [currency: string, amount: string];

/** A rule as it is edited: an amount may be empty yet. */
interface Row {
  readonly kind: string;
  readonly over: readonly Amount[];
  readonly approvers: string;
  readonly roles: readonly string[];
}

const kinds: readonly Rule["kind"][] = ["withdrawal", "deposit"];
const approverCounts = ["1", "2", "3", "4", "5"];

/** The text of a row, `withdrawal; 5000.00 USD, 4500.00 EUR; 2; finance, owner`, as a field of several texts has it. */
function textOfRow({ kind, over, approvers, roles }: Row): string {
  const amounts = over.map(([currency, amount]) => `${amount} ${currency}`).join(", ");
  return [kind, amounts, approvers, roles.join(", ")].join("; ");
}

const listOf = (text: string) => text.split(", ").filter(Boolean);

function rowOfText(text: string): Row {
  const [kind = "", amounts = "", approvers = "1", roles = ""] = text.split("; ");
  const over = listOf(amounts).map((each): Amount => {
    const place = each.lastIndexOf(" ");
    return [each.slice(place + 1), each.slice(0, place)];
  });
  return { kind, over, approvers, roles: listOf(roles) };
}

const rowOfRule = ({ kind, over, approvers, roles = [] }: Rule): Row => ({
  ...{ kind, roles, approvers: String(approvers) },
  over: Object.entries(over).map(([currency, amount]) => [currency, String(amount)]),
});

/** The rule that a row asks for: a currency without an amount is not named. */
function ruleOfRow({ kind, over, approvers, roles }: Row): object {
  return {
    ...{ kind, approvers: Number(approvers) },
    over: Object.fromEntries(over.filter(([, amount]) => amount !== "")),
    ...(roles.length > 0 && { roles }),
  };
}

function fieldsOf({ approval_rules, currencies }: Settings): readonly Field[] {
  return [
    {
      name: "approval_rules",
      label: "Rules",
      kind: "ticks",
      first: approval_rules.map((rule) => textOfRow(rowOfRule(rule))),
      render: (texts, set) => (
        <Rows
          key="approval_rules"
          rows={texts.map(rowOfText)}
          currencies={currencies}
          onChange={(rows) => set(rows.map(textOfRow))}
        />
      ),
    },
  ];
}

/** Changes the approval rules, one row each. */
export function EditRules({ settings, onClose }: { readonly settings: Settings; readonly onClose: () => void }) {
  return (
    <EditDialog
      title="Change the approval rules"
      wide
      resource={settings}
      read={() => read("/settings")}
      fieldsOf={fieldsOf}
      bodyOf={(entered) => ({ approval_rules: wordsOf(entered, "approval_rules").map(rowOfText).map(ruleOfRow) })}
      send={(body, options) => command("PATCH", "/settings", { ...options, body })}
      foot="Once there are two owners, another one has to agree."
      onClose={onClose}
    />
  );
}

interface RowsProps {
  readonly rows: readonly Row[];
  readonly currencies: readonly string[];
  readonly onChange: (rows: readonly Row[]) => void;
}

function Rows({ rows, currencies, onChange }: RowsProps) {
  const add = () => onChange([...rows, { kind: "withdrawal", over: [], approvers: "1", roles: [] }]);
  return (
    <fieldset className="field">
      <legend className="group-label">Rules</legend>
      <p className="help">
        Of the rules that apply the strictest counts. A currency without an amount needs approval at any amount.
      </p>
      {rows.map((row, place) => (
        <RuleRow
          // biome-ignore lint/suspicious/noArrayIndexKey: a row has no other name than its place
          key={place}
          number={place + 1}
          row={row}
          currencies={currencies}
          onChange={(changed) => onChange(rows.with(place, changed))}
          onRemove={() => onChange(rows.toSpliced(place, 1))}
        />
      ))}
      <Button variant="default" data-autofocus onClick={add}>
        Add rule
      </Button>
    </fieldset>
  );
}

interface RuleRowProps {
  readonly number: number;
  readonly row: Row;
  readonly currencies: readonly string[];
  readonly onChange: (row: Row) => void;
  readonly onRemove: () => void;
}

function RuleRow({ number, row, currencies, onChange, onRemove }: RuleRowProps) {
  const amounts = new Map(row.over);
  const offered = [...new Set([...currencies, ...amounts.keys()])];
  const setAmount = (currency: string, typed: string) =>
    // Numbers may be typed as they are shown, `5,000.00`.
    onChange({ ...row, over: [...amounts.set(currency, typed.replaceAll(/[\s,;]/g, ""))] });
  const { environment } = useCaller();
  const approving = roleWords
    .map(([role]) => role)
    .filter((role) => roleScopes(role, environment).includes("transactions:approve"));
  const tick = (role: string, on: boolean) =>
    onChange({ ...row, roles: on ? [...row.roles, role] : row.roles.filter((each) => each !== role) });
  return (
    <fieldset className="rule">
      <legend className="group-label">Rule {number}</legend>
      <div className="rule-parts">
        <Select label="Kind" value={row.kind} values={kinds} onChange={(kind) => onChange({ ...row, kind })} />
        <Select
          label="Approvers"
          value={row.approvers}
          values={approverCounts}
          onChange={(approvers) => onChange({ ...row, approvers })}
        />
        {offered.map((currency) => (
          <TextInput
            key={currency}
            label={`Over, in ${currency}`}
            value={amounts.get(currency) ?? ""}
            placeholder="any amount"
            inputMode="decimal"
            autoComplete="off"
            onChange={({ currentTarget }) => setAmount(currency, currentTarget.value)}
          />
        ))}
      </div>
      <div className="rule-roles">
        {approving.map((role) => (
          <Checkbox
            key={role}
            label={inWords(role)}
            checked={row.roles.includes(role)}
            onChange={({ currentTarget }) => tick(role, currentTarget.checked)}
          />
        ))}
        <span className="dim">{row.roles.length === 0 && "Any of these roles"}</span>
        <Button variant="default" size="compact-sm" onClick={onRemove}>
          Remove
        </Button>
      </div>
    </fieldset>
  );
}
