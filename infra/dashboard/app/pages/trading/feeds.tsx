import { command } from "../../api/client.ts";
import type { Schemas } from "../../api/types.ts";
import { ActionButton } from "../../parts/dialogs.tsx";
import { FormDialog, textOf } from "../../parts/form-dialog.tsx";
import { inWords, lengthOf } from "../../parts/format.ts";
import { ListView } from "../../parts/list.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Age, Id, Maybe } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";
import { feedState } from "./feed-state.ts";

type Source = Schemas["FeedSource"];

/** Columns of the feeds. */
const feedColumns: readonly Column<Source>[] = [
  { head: "Source", key: true, small: "name", cell: ({ name }) => name },
  { head: "Id", width: 130, cell: ({ id }) => <Id id={id} /> },
  { head: "Platform", width: 100, small: "purpose", cell: ({ platform }) => inWords(platform) },
  { head: "State", width: 110, small: "amount", cell: (row) => <Status state={feedState(row)} /> },
  { head: "Decides", width: 110, cell: ({ authoritative }) => inWords(authoritative) },
  { head: "Expects", width: 110, right: true, cell: ({ expected_next_seq }) => expected_next_seq },
  {
    head: "Lag",
    width: 90,
    right: true,
    cell: ({ lag_ms }) => <Maybe value={lag_ms === null ? null : lengthOf(lag_ms)} />,
  },
  {
    head: "Last batch",
    width: 130,
    right: true,
    small: "age",
    cell: ({ last_batch_at }) => <Age at={last_batch_at} />,
  },
];

/** Trading platforms that send their trades and prices. */
export function FeedsPage() {
  const may = useMay();
  const create = may("feed:write") && (
    <ActionButton
      word="Register source"
      icon="plus"
      primary
      dialog={(close) => (
        <FormDialog
          title="Register source"
          fields={[
            { name: "name", label: "Name", placeholder: "mt5:live-1" },
            {
              name: "platform",
              label: "Platform",
              kind: "choice",
              values: ["mt4", "mt5", "ctrader", "other"],
              first: "mt5",
            },
            {
              name: "authoritative",
              label: "Closes positions at the stop-out level",
              kind: "choice",
              values: ["platform", "service"],
              first: "platform",
            },
          ]}
          submit="Register"
          run={(entered, key) =>
            command("POST", "/feed/sources", {
              key,
              body: Object.fromEntries(
                ["name", "platform", "authoritative"].map((name) => [name, textOf(entered, name) ?? ""]),
              ),
            })
          }
          onClose={close}
        />
      )}
    />
  );
  return (
    <>
      <PageHead title="Feeds" actions={create} />
      <ListView
        path="/feed/sources"
        caption="Feed sources"
        columns={feedColumns}
        idOf={({ id }) => id}
        to={({ id }) => `/feeds/${id}`}
        empty={{
          title: "No feeds",
          text: "A trading platform sends its trades and prices as a source.",
          action: create,
        }}
      />
    </>
  );
}
