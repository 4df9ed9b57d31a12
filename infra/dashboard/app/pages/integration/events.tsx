import { useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { addressWith, useAddress } from "../../parts/address.ts";
import { useKeys } from "../../parts/keys.ts";
import { ListView, Split } from "../../parts/list.tsx";
import { Json, OpenedHead, PageHead, Pairs, Panel } from "../../parts/page.tsx";
import { Failed } from "../../parts/states-of-page.tsx";
import type { Column } from "../../parts/table.tsx";
import { Clock, CopyText, Go, Id } from "../../parts/values.tsx";
import { ActorName } from "../actor.tsx";

type BrokerageEvent = Schemas["BrokerageEvent"];

const columns: readonly Column<BrokerageEvent>[] = [
  { head: "UTC", width: 110, small: "age", cell: ({ created_at }) => <Clock at={created_at} /> },
  { head: "Type", key: true, small: "name", cell: ({ type }) => type },
  { head: "Resource", width: 150, small: "purpose", cell: ({ resource }) => <Id id={resource.id} /> },
  { head: "Actor", width: 160, cell: ({ actor }) => <ActorName actor={actor} /> },
  { head: "Sequence", width: 100, right: true, wide: true, small: "amount", cell: ({ sequence }) => sequence },
];

/** Everything that happened, newest first; filtered by a resource it is the timeline of that one. */
export function EventsPage() {
  const [search, change] = useAddress();
  const { data: types } = useResource("/event_types", {}, { still: true });
  const filters = [
    { name: "type", label: "Type", values: types?.data.map(({ type }) => type) ?? [], verbatim: true },
    { name: "resource_id", label: "Object id", wide: true },
    { name: "account_id", label: "Account id", wide: true },
    { name: "client_id", label: "Client id", wide: true },
  ];
  const opened = search["open"];
  return (
    <div className="full">
      <PageHead title="Events" note={<span className="dim">newest first</span>} />
      <Split
        list={
          <ListView
            path="/events"
            params={{ query: { sort: "-sequence" } }}
            caption="Events"
            filters={filters}
            columns={columns}
            idOf={({ id }) => id}
            to={({ id }) => addressWith("/events", { ...search, open: id })}
            selected={opened}
            empty={{ title: "No events", text: "Every change of a client, an account or money is an event." }}
          />
        }
        opened={opened ? <EventPanel id={opened} onClose={() => change({ open: undefined })} /> : null}
      />
    </div>
  );
}

function EventPanel({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { data, error, refetch } = useResource("/events/{id}", { path: { id } }, { still: true });
  useKeys({ Escape: onClose });
  if (error && data === undefined) return <Failed error={error} again={() => void refetch()} />;
  if (data === undefined) return null;
  const { type, resource, actor, sequence, created_at, request_id } = data;
  return (
    <>
      <OpenedHead title={type} onClose={onClose} />
      <Panel>
        <Pairs
          pairs={[
            ["Event", <Id key="id" id={id} />],
            ["Sequence", sequence],
            ["At", <Clock key="at" at={created_at} />],
            ["Resource", <Id key="resource" id={resource.id} />],
            [
              "Timeline",
              <Go key="timeline" to={addressWith("/events", { resource_id: resource.id })}>
                All events of this {resource.type.replaceAll("_", " ")}
              </Go>,
            ],
            ["Actor", <ActorName key="actor" actor={actor} />],
            ["Request", request_id ? <Id key="request" id={request_id} /> : null],
          ]}
        />
      </Panel>
      <Panel title="Payload" side={<CopyText text={JSON.stringify(data)} word="Copy" />}>
        <Json value={data} label="Payload" />
      </Panel>
    </>
  );
}
