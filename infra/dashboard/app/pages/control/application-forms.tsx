import { Checkbox } from "@mantine/core";
import { useState } from "react";
import { command } from "../../api/client.ts";
import { config } from "../../api/config.ts";
import type { Schemas } from "../../api/types.ts";
import { SecretDialog } from "../../parts/dialogs.tsx";
import { type Field, FormDialog, textOf, wordsOf } from "../../parts/form-dialog.tsx";
import { grouped } from "../../parts/format.ts";
import { Pairs } from "../../parts/page.tsx";
import { useMay } from "../../session/caller.ts";
import { ScopeTags } from "./scope-tags.tsx";
import { scopeGroups } from "./scopes.ts";

type Issued = Schemas["IssuedApiApplication"];

const allowedAddresses = {
  name: "allowed_ips",
  label: "Allowed addresses",
  help: "Addresses or CIDR ranges, separated by commas. Empty: from anywhere.",
  placeholder: "203.0.113.0/24",
} as const;

const feedSources = {
  name: "source_ids",
  label: "Feed sources",
  help: "Identifiers of the sources that it is bound to, separated by commas. Empty: every source.",
} as const;

/** The fields of an application, with the values that it has. */
export function applicationFields(now?: Schemas["ApiApplication"]): Field[] {
  return [
    { name: "name", label: "Name", first: now?.name ?? "" },
    {
      name: "scopes",
      label: "Scopes",
      kind: "ticks",
      first: now?.scopes ?? [],
      render: (value, set) => <Scopes key="scopes" value={value} onChange={set} />,
    },
    { ...allowedAddresses, first: now?.allowed_ips.join(", ") ?? "" },
    { ...feedSources, first: now?.source_ids.join(", ") ?? "" },
  ];
}

/** Creates an application, and shows its secret once. */
export function CreateApplication({ onClose }: { readonly onClose: () => void }) {
  const [issued, setIssued] = useState<Issued>();
  if (issued !== undefined) return <IssuedSecret issued={issued} done="was created" onClose={onClose} />;
  return (
    <FormDialog<Issued>
      title="Create Application"
      wide
      fields={applicationFields()}
      submit="Create"
      foot="The secret is shown once, in the next step."
      run={(entered, key) => {
        const body = { name: textOf(entered, "name") ?? "", scopes: wordsOf(entered, "scopes") };
        const bounds = { allowed_ips: wordsOf(entered, "allowed_ips"), source_ids: wordsOf(entered, "source_ids") };
        return command("POST", "/applications", { key, body: { ...body, ...bounds } });
      }}
      onDone={setIssued}
      onClose={onClose}
      keepOpen
    />
  );
}

const graceHours = [
  ["0", "At once"],
  ["3600", "After 1 hour"],
  ["86400", "After 24 hours"],
  ["604800", "After 7 days"],
] as const;

/** Gives an application another secret, with some time in which the previous one works as well. */
export function RotateSecret({
  application,
  first = "86400",
  onClose,
}: {
  readonly application: Pick<Schemas["ApiApplication"], "id" | "name">;
  /** Seconds of grace that are chosen at first. */
  readonly first?: (typeof graceHours)[number][0];
  readonly onClose: () => void;
}) {
  const [issued, setIssued] = useState<Issued>();
  if (issued !== undefined) return <IssuedSecret issued={issued} done="has another secret" onClose={onClose} />;
  return (
    <FormDialog<Issued>
      title={`Rotate the secret of ${application.name}`}
      fields={[
        {
          name: "grace_seconds",
          label: "The previous secret ends",
          kind: "choice",
          values: graceHours,
          first,
          help: "Both work until then, so that programs can change over without an interruption.",
        },
      ]}
      submit="Rotate"
      foot="The secret is shown once, in the next step."
      run={(entered, key) =>
        command("POST", "/applications/{id}/rotate_secret", {
          key,
          path: { id: application.id },
          body: { grace_seconds: Number(textOf(entered, "grace_seconds")) },
        })
      }
      onDone={setIssued}
      onClose={onClose}
      keepOpen
    />
  );
}

function IssuedSecret({
  issued,
  done,
  onClose,
}: {
  readonly issued: Issued;
  readonly done: string;
  readonly onClose: () => void;
}) {
  const { name, client_id, client_secret, scopes, allowed_ips, rate } = issued;
  const url = `${config().api_url}/oauth/token`;
  return (
    <SecretDialog
      title={`${name} ${done}`}
      values={[
        ["Client id", client_id],
        ["Client secret", client_secret],
      ]}
      file={{
        name: ".env",
        lines: [`CLIENT_ID=${client_id}`, `CLIENT_SECRET=${client_secret}`, `BASE=${config().api_url}`],
      }}
      onClose={onClose}
    >
      <Pairs
        pairs={[
          ["Scopes", <ScopeTags key="scopes" scopes={scopes} />],
          ["Allowed addresses", allowed_ips.length === 0 ? "Anywhere" : allowed_ips.join(", ")],
          ["Limits", `${grouped(String(rate.per_minute))} requests a minute, ${rate.burst} in one second`],
        ]}
      />
      <div className="field">
        <span className="group-label">Get a token</span>
        <pre className="code">
          {`curl -u "$CLIENT_ID:$CLIENT_SECRET" \\\n  -d grant_type=client_credentials \\\n  ${url}`}
        </pre>
      </div>
    </SecretDialog>
  );
}

interface ScopesProps {
  readonly value: readonly string[];
  readonly onChange: (value: readonly string[]) => void;
}

function Scopes({ value, onChange }: ScopesProps) {
  const may = useMay();
  const toggle = (scope: string) =>
    onChange(value.includes(scope) ? value.filter((one) => one !== scope) : [...value, scope]);
  return (
    <fieldset className="field">
      <legend className="group-label">
        Scopes <span className="help">{value.length} chosen. Give only what the program needs.</span>
      </legend>
      <div className="scopes">
        {scopeGroups.map(({ name, scopes }) => (
          <div key={name}>
            <span>{name}</span>
            {scopes.map(([scope, word, allows]) => (
              <Checkbox
                key={scope}
                name="scopes"
                label={word}
                aria-label={scope}
                description={allows}
                checked={value.includes(scope)}
                // No application is given what its maker lacks.
                disabled={!may(scope) && !value.includes(scope)}
                onChange={() => toggle(scope)}
              />
            ))}
          </div>
        ))}
      </div>
    </fieldset>
  );
}
