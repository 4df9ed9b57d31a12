import { command, read } from "../../api/client.ts";
import { useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { ActionButton, ConfirmDialog } from "../../parts/dialogs.tsx";
import { EditDialog } from "../../parts/edit-dialog.tsx";
import { type Entered, type Field, textOf } from "../../parts/form-dialog.tsx";
import { inWords } from "../../parts/format.ts";
import { PageHead, Pairs, Panel } from "../../parts/page.tsx";
import { FailedPage } from "../../parts/states-of-page.tsx";
import { Age, Clock, Go } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";
import { ActorName } from "../actor.tsx";
import { type Rule, ruleText } from "../money/approval-rule.ts";
import { EditRules } from "./approval-rules.tsx";

type Settings = Schemas["Settings"];

/** The policies of the brokerage. */
export function SettingsPage() {
  const { data, error, refetch } = useResource("/settings");
  const may = useMay();
  if (error && data === undefined) return <FailedPage error={error} again={() => void refetch()} />;
  if (data === undefined) return null;
  return (
    <>
      <PageHead
        title="Settings"
        note={may("applications:write") && <Go to="/settings/api">API</Go>}
        actions={
          may("settings:write") && (
            <ActionButton word="Edit" primary dialog={(close) => <EditSettings settings={data} onClose={close} />} />
          )
        }
      />
      <Panel title="Policies">
        <Pairs
          pairs={[
            ["Name", data.name ?? "Not set"],
            ["Verified clients", inWords(data.require_verified_client)],
            ["Four eyes", fourEyesText(data.four_eyes)],
            ["Default leverage", `1:${data.default_leverage}`],
            [
              "Retail clients",
              `At most 1:${data.max_leverage_retail}, stop-out at ${data.min_stop_out_retail} % or above`,
            ],
            ["Undecided transactions expire", `after ${data.transaction_expiry_days} days`],
            ["Transfer mark-up", `${data.transfer_mark_up_percent} %`],
            ["Credit", `On withdrawal: ${inWords(data.credit_on_withdrawal).toLowerCase()}`],
            ["Currencies", data.currencies.join(", ")],
            ["Days end at", `${data.day_end.time} ${data.day_end.zone}`],
            ["Changed", <Age key="changed" at={data.updated_at} />],
          ]}
        />
      </Panel>
      <FourEyes settings={data} />
      <Rules settings={data} />
      <Panel
        title="Letterhead"
        note="of statements"
        side={
          may("settings:write") && (
            <ActionButton
              word="Change letterhead"
              dialog={(close) => <EditLetterhead settings={data} onClose={close} />}
            />
          )
        }
      >
        <Pairs pairs={letterhead.map(([name, label]) => [label, data.brokerage[name] ?? "Not set"] as const)} />
      </Panel>
    </>
  );
}

const fourEyesText = (on: boolean) => (on ? "The maker does not approve" : "Off");

/** A change of four eyes that another owner proposed. */
function FourEyes({ settings: { proposed_four_eyes: proposed, version } }: { readonly settings: Settings }) {
  const may = useMay();
  if (proposed === null) return null;
  const { four_eyes, by, at, expires_at } = proposed;
  const text = fourEyesText(four_eyes);
  return (
    <Panel
      title="Proposed four eyes"
      note={
        <>
          by <ActorName actor={by} />, <Age at={at} />. Another owner has to agree until <Clock at={expires_at} />.
        </>
      }
      side={
        may("settings:write") && (
          <ActionButton
            word="Agree"
            dialog={(close) => (
              <ConfirmDialog
                title="Agree to the proposed four eyes"
                text={text}
                word="Agree"
                version={version}
                run={(key) => change(key, { four_eyes })}
                onClose={close}
              />
            )}
          />
        )
      }
    >
      <p>{text}</p>
    </Panel>
  );
}

function Rules({ settings }: { readonly settings: Settings }) {
  const { approval_rules, proposed_approval_rules: proposed, version } = settings;
  const may = useMay();
  return (
    <>
      <Panel
        title="Approval rules"
        side={
          may("settings:write") && (
            <ActionButton word="Change rules" dialog={(close) => <EditRules settings={settings} onClose={close} />} />
          )
        }
      >
        <RuleList rules={approval_rules} />
      </Panel>
      {proposed && (
        <Panel
          title="Proposed rules"
          note={
            <>
              by <ActorName actor={proposed.by} />, <Age at={proposed.at} />. Another owner has to agree until{" "}
              <Clock at={proposed.expires_at} />.
            </>
          }
          side={
            may("settings:write") && (
              <ActionButton
                word="Agree"
                dialog={(close) => <Agree rules={proposed.rules} version={version} onClose={close} />}
              />
            )
          }
        >
          <RuleList rules={proposed.rules} />
        </Panel>
      )}
    </>
  );
}

const noRules =
  "No approval rules: transactions need an approval only with four eyes; adjustments and transfers to another client " +
  "always need one.";

function RuleList({ rules }: { readonly rules: readonly Rule[] }) {
  if (rules.length === 0) return <p className="dim">{noRules}</p>;
  return (
    <ul className="checks">
      {rules.map((rule) => (
        <li key={ruleText(rule)}>{ruleText(rule)}</li>
      ))}
    </ul>
  );
}

const change = (key: string, body: object) => command("PATCH", "/settings", { key, body });

interface AgreeProps {
  readonly rules: readonly Rule[];
  readonly version: number;
  readonly onClose: () => void;
}

function Agree({ rules, version, onClose }: AgreeProps) {
  return (
    <ConfirmDialog
      title="Agree to the proposed rules"
      text={rules.length === 0 ? noRules : rules.map(ruleText).join(". ")}
      word="Agree"
      version={version}
      run={(key) => change(key, { approval_rules: rules })}
      onClose={onClose}
    />
  );
}

const fields = (now: Settings): Field[] => [
  { name: "name", label: "Name", first: now.name ?? "", help: "People who work for several brokerages choose by it." },
  {
    name: "require_verified_client",
    label: "Verified clients",
    kind: "choice",
    values: ["none", "withdrawal", "live_account"],
    first: now.require_verified_client,
    help: "When a client must be verified.",
  },
  {
    name: "four_eyes",
    label: "Four eyes: the maker of a transaction does not approve it",
    kind: "tick",
    first: now.four_eyes ? "yes" : "",
  },
  { name: "default_leverage", label: "Default leverage", first: String(now.default_leverage) },
  {
    name: "max_leverage_retail",
    label: "Highest leverage of retail clients",
    first: String(now.max_leverage_retail),
    help: "Of live accounts that are opened or changed from now on. The EU allows 30.",
  },
  {
    name: "min_stop_out_retail",
    label: "Lowest stop-out level of retail clients in percent",
    first: now.min_stop_out_retail,
    help: "Of the same accounts. The EU asks for 50.00.",
  },
  {
    name: "transaction_expiry_days",
    label: "Days until an undecided transaction expires",
    first: String(now.transaction_expiry_days),
  },
  { name: "transfer_mark_up_percent", label: "Transfer mark-up in percent", first: now.transfer_mark_up_percent },
  {
    name: "day_end",
    label: "Days end at",
    first: `${now.day_end.time} ${now.day_end.zone}`,
    help: "Time and zone, as 17:00 America/New_York; 00:00 is the midnight after a day. It counts from tomorrow on.",
  },
  {
    name: "credit_on_withdrawal",
    label: "Credit on a withdrawal",
    kind: "choice",
    values: ["keep", "remove", "prorate"],
    first: now.credit_on_withdrawal,
  },
];

const letterhead = [
  ["name", "Company"],
  ["address", "Address"],
  ["registration_number", "Registration number"],
  ["licence", "Licence"],
  ["contact", "Email or phone"],
  ["website", "Website"],
] as const;

/** Changes the letterhead of statements; a text that is made empty is removed. */
function EditLetterhead({ settings, onClose }: { readonly settings: Settings; readonly onClose: () => void }) {
  return (
    <EditDialog
      title="Change the letterhead"
      resource={settings}
      read={() => read("/settings")}
      fieldsOf={({ brokerage }) =>
        letterhead.map(([name, label]) => ({ name, label, first: brokerage[name] ?? "", optional: true }))
      }
      bodyOf={(entered) => Object.fromEntries(letterhead.map(([name]) => [name, textOf(entered, name) ?? ""]))}
      send={(brokerage, options) => command("PATCH", "/settings", { ...options, body: { brokerage } })}
      onClose={onClose}
    />
  );
}

function bodyOf(entered: Entered): Readonly<Record<string, unknown>> {
  return {
    name: textOf(entered, "name"),
    require_verified_client: textOf(entered, "require_verified_client"),
    four_eyes: textOf(entered, "four_eyes") === "yes",
    default_leverage: Number(textOf(entered, "default_leverage")),
    max_leverage_retail: Number(textOf(entered, "max_leverage_retail")),
    min_stop_out_retail: textOf(entered, "min_stop_out_retail") ?? "",
    transaction_expiry_days: Number(textOf(entered, "transaction_expiry_days")),
    transfer_mark_up_percent: textOf(entered, "transfer_mark_up_percent") ?? "",
    credit_on_withdrawal: textOf(entered, "credit_on_withdrawal"),
    day_end: dayEndOf(textOf(entered, "day_end") ?? ""),
  };
}

function dayEndOf(text: string): object {
  const [time = "", zone = ""] = text.split(/\s+/);
  return { time, zone };
}

function EditSettings({ settings, onClose }: { readonly settings: Settings; readonly onClose: () => void }) {
  return (
    <EditDialog
      title="Edit settings"
      resource={settings}
      read={() => read("/settings")}
      fieldsOf={fields}
      bodyOf={bodyOf}
      send={(body, options) => command("PATCH", "/settings", { ...options, body })}
      onClose={onClose}
    />
  );
}
