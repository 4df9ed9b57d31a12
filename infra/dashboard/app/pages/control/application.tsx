import { command, read } from "../../api/client.ts";
import { useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { useId } from "../../parts/address.ts";
import { ActionButton, ConfirmDialog, MoreMenu } from "../../parts/dialogs.tsx";
import { EditDialog } from "../../parts/edit-dialog.tsx";
import { textOf, wordsOf } from "../../parts/form-dialog.tsx";
import { grouped } from "../../parts/format.ts";
import { Crumb, Facts, PageHead, Panel } from "../../parts/page.tsx";
import { FailedPage } from "../../parts/states-of-page.tsx";
import { Status } from "../../parts/status.tsx";
import { Age, Id } from "../../parts/values.tsx";
import { applicationFields, RotateSecret } from "./application-forms.tsx";
import { ScopeTags } from "./scope-tags.tsx";

type Application = Schemas["ApiApplication"];

/** One application: what it may do, its secret and its limits. */
export function ApplicationPage() {
  const id = useId();
  const { data, error, refetch } = useResource("/applications/{id}", { path: { id } });
  if (error && data === undefined) return <FailedPage error={error} again={() => void refetch()} />;
  if (data === undefined) return null;
  const { name, client_id, status, scopes, allowed_ips, source_ids, rate, access_token_ttl } = data;
  return (
    <>
      <PageHead
        title={name}
        crumbs={
          <Crumb to="/settings/api" name="API">
            <Id id={id} />
          </Crumb>
        }
        note={<Status state={status} />}
        actions={status === "active" && <Actions application={data} />}
      />
      <Facts
        facts={[
          ["Client id", <Id key="id" id={client_id} />],
          ["Last token", <Age key="used" at={data.last_used_at} />],
          ["Secret of", <Age key="secret" at={data.secret_rotated_at ?? data.created_at} />],
          ["Previous secret ends", <Age key="previous" at={data.previous_secret_expires_at} none="–" />],
          ["Requests a minute", grouped(String(rate.per_minute))],
          ["Requests in one second", rate.burst],
          ["Quotes in one second", rate.quotes_per_second],
          ["A token lasts", `${access_token_ttl / 60} min`],
        ]}
      />
      <Panel title="Scopes">
        <ScopeTags scopes={scopes} />
      </Panel>
      <Panel title="Allowed addresses">
        {allowed_ips.length === 0 ? <p className="dim">Anywhere</p> : <ScopeTags scopes={allowed_ips} />}
      </Panel>
      {source_ids.length > 0 && (
        <Panel title="Feed sources">
          <ScopeTags scopes={source_ids} />
        </Panel>
      )}
    </>
  );
}

function Actions({ application }: { readonly application: Application }) {
  const { id, name, version } = application;
  return (
    <>
      <ActionButton word="Edit" dialog={(close) => <Edit application={application} onClose={close} />} />
      <ActionButton
        word="Rotate secret"
        icon="again"
        dialog={(close) => <RotateSecret application={application} onClose={close} />}
      />
      <MoreMenu
        actions={[
          {
            word: "Revoke",
            dialog: (close) => (
              <ConfirmDialog
                title={`Revoke ${name}`}
                text="Its tokens and its secret stop working within a minute. This cannot be undone."
                word="Revoke"
                danger
                version={version}
                run={(key) => command("DELETE", "/applications/{id}", { key, path: { id } })}
                onClose={close}
              />
            ),
          },
        ]}
      />
    </>
  );
}

function Edit({ application, onClose }: { readonly application: Application; readonly onClose: () => void }) {
  const path = { id: application.id };
  return (
    <EditDialog
      title={`Edit ${application.name}`}
      wide
      resource={application}
      read={() => read("/applications/{id}", { path })}
      fieldsOf={applicationFields}
      bodyOf={(entered) => ({
        name: textOf(entered, "name") ?? "",
        scopes: wordsOf(entered, "scopes"),
        allowed_ips: wordsOf(entered, "allowed_ips"),
        source_ids: wordsOf(entered, "source_ids"),
      })}
      send={(body, options) => command("PATCH", "/applications/{id}", { ...options, path, body })}
      onClose={onClose}
    />
  );
}
