import { useList } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { inWords } from "../../parts/format.ts";
import { Panel } from "../../parts/page.tsx";
import { Failed } from "../../parts/states-of-page.tsx";
import { Status } from "../../parts/status.tsx";
import { Age } from "../../parts/values.tsx";
import { ActorName } from "../actor.tsx";

type Review = Schemas["Review"];

/** The decisions about an identity and the notes of the staff, newest first, as far as the person may read them. */
export function Reviews({ clientId }: { readonly clientId: string }) {
  const list = useList("/clients/{id}/reviews", { path: { id: clientId } });
  const { rows, error, again, hasMore, loadMore } = list;
  return (
    <Panel title="Reviews">
      {rows.length === 0 && error !== null && <Failed error={error} again={again} />}
      {rows.length === 0 && error === null && <p className="dim">{list.loading ? "Loading…" : "None so far."}</p>}
      <ol className="timeline">
        {rows.map((review) => (
          <ReviewItem key={review.id} review={review} />
        ))}
      </ol>
      {hasMore && (
        <button type="button" className="plain" onClick={loadMore}>
          Load more
        </button>
      )}
    </Panel>
  );
}

function ReviewItem({ review }: { readonly review: Review }) {
  const { actor, created_at, comment, internal_comment, note, reasons, verification } = review;
  const checks = verification?.checks ?? [];
  return (
    <li>
      <p className="with-icon">
        <ReviewHead review={review} />
      </p>
      {reasons.length > 0 && <p>{reasons.map(inWords).join(", ")}</p>}
      {checks.length > 0 && <p>Checked: {checks.map(inWords).join(", ").toLowerCase()}</p>}
      {note !== null && <p>{note}</p>}
      {comment !== null && <p>For the client: {comment}</p>}
      {internal_comment !== null && <p>Internal: {internal_comment}</p>}
      <p className="dim">
        <ActorName actor={actor} /> <Age at={created_at} />
      </p>
    </li>
  );
}

function ReviewHead({ review: { kind, previous_status, status, retry_allowed } }: { readonly review: Review }) {
  if (kind === "note" || status === null) return <strong>Note</strong>;
  if (previous_status === status && status !== "verified") return <strong>Comment or correction</strong>;
  const renewed = previous_status === status ? "Verified again, or corrected" : undefined;
  return (
    <>
      <Status state={status} {...(renewed !== undefined && { word: renewed })} />
      {retry_allowed !== null && <span className="dim">{retry_allowed ? "ask again" : "final"}</span>}
    </>
  );
}
