import { Button } from "@mantine/core";
import { useRouter } from "@tanstack/react-router";
import { Fragment } from "react";
import { command } from "../../api/client.ts";
import { useCommand, useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { useId } from "../../parts/address.ts";
import { inWords } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { useKeys } from "../../parts/keys.ts";
import { Crumb, Json, OpenedHead, PageHead, Panel } from "../../parts/page.tsx";
import { ErrorNotice, Failed } from "../../parts/states-of-page.tsx";
import { Mark, Status } from "../../parts/status.tsx";
import { Age, Clock, CopyText, Id } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";

type Delivery = Schemas["WebhookDelivery"];
type Attempt = NonNullable<Delivery["attempts"]>[number];

/** A delivery on a page of its own, where its identifier leads to. */
export function DeliveryPage() {
  const id = useId();
  const { history } = useRouter();
  return (
    <>
      <PageHead
        title="Delivery"
        crumbs={
          <Crumb to="/webhooks" name="Webhooks">
            <Id id={id} />
          </Crumb>
        }
      />
      <DeliveryPanel
        id={id}
        onClose={() => window.history.back()}
        onRepeated={(next) => history.push(`/deliveries/${next}`)}
      />
    </>
  );
}

interface DeliveryPanelProps {
  readonly id: string;
  readonly onClose: () => void;
  /** Shows the new delivery that repeats this one. */
  readonly onRepeated: (id: string) => void;
}

/** A delivery with its attempts, what the receiver answered, and what was sent. */
export function DeliveryPanel({ id, onClose, onRepeated }: DeliveryPanelProps) {
  const { data, error, refetch } = useResource("/deliveries/{id}", { path: { id } });
  useKeys({ Escape: onClose });
  if (error && data === undefined) return <Failed error={error} again={() => void refetch()} />;
  if (data === undefined) return null;
  return (
    <>
      <OpenedHead
        title={data.event_type}
        onClose={onClose}
        actions={<Retry delivery={data} onRepeated={onRepeated} />}
      />
      <div className="panel">
        <p className="with-icon">
          <Status state={data.status} /> <Id id={id} /> <span className="dim">event</span> <Id id={data.event_id} />
        </p>
      </div>
      <Attempts delivery={data} />
      <Payload eventId={data.event_id} />
    </>
  );
}

interface RetryProps {
  readonly delivery: Delivery;
  readonly onRepeated: (id: string) => void;
}

/** Delivers the event again, as a new delivery. One that is on its way is tried again by itself. */
function Retry({ delivery: { id, status }, onRepeated }: RetryProps) {
  const may = useMay();
  const sending = useCommand("Retry", (path: { readonly id: string }, key) =>
    command<Delivery>("POST", "/deliveries/{id}/retry", { key, path }),
  );
  const possible = may("webhooks:write") && status !== "pending" && status !== "retrying";
  const retry = () => sending.mutate({ id }, { onSuccess: (next) => onRepeated(next.id) });
  useKeys({ r: possible ? retry : undefined });
  if (!possible) return null;
  return (
    <>
      {sending.error !== null && <ErrorNotice error={sending.error} />}
      <Button
        variant="default"
        leftSection={<Icon name="again" small />}
        rightSection={<kbd>r</kbd>}
        disabled={sending.isPending}
        onClick={retry}
      >
        Retry now
      </Button>
    </>
  );
}

function Attempts({ delivery }: { readonly delivery: Delivery }) {
  const { attempts = [], max_retries, next_attempt_at, status } = delivery;
  const open = next_attempt_at !== null && status !== "succeeded";
  return (
    <Panel
      title="Attempts"
      note={
        <>
          {attempts.length} of {max_retries + 1}
          {open && (
            <>
              , next <Age at={next_attempt_at} />
            </>
          )}
        </>
      }
    >
      <ol className="attempts">
        {attempts.map((one) => (
          <Fragment key={one.number}>
            <AttemptRow attempt={one} />
          </Fragment>
        ))}
      </ol>
    </Panel>
  );
}

function AttemptRow({ attempt }: { readonly attempt: Attempt }) {
  const { number, at, duration_ms, http_status, error, response_excerpt } = attempt;
  const done = http_status !== null && http_status >= 200 && http_status < 300;
  return (
    <li>
      <Mark shape={done ? "tick" : "octagon"} tone={done ? "ok" : "bad"} />
      <strong>{number}</strong>
      <Clock at={at} />
      <span className="dim since">
        <Age at={at} />
      </span>
      <span className="strong">{http_status ?? (error === null ? "–" : inWords(error))}</span>
      <span className="dim">{duration_ms} ms</span>
      {response_excerpt && <pre className="code">{response_excerpt}</pre>}
    </li>
  );
}

function Payload({ eventId }: { readonly eventId: string }) {
  const may = useMay();
  const { data } = useResource("/events/{id}", { path: { id: eventId } }, { still: true, enabled: may("events:read") });
  if (data === undefined) return null;
  return (
    <Panel
      title="Payload"
      note="signed again at every attempt"
      side={<CopyText text={JSON.stringify(data)} word="Copy" />}
    >
      <Json value={data} label="Payload" />
    </Panel>
  );
}
