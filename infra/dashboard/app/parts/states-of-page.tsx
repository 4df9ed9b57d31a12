import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { isUnanswered, problemOf } from "../api/problem.ts";
import { useAddress } from "./address.ts";
import type { Filter } from "./filters.tsx";
import { inWords } from "./format.ts";
import { Icon } from "./icons.tsx";
import { Mark } from "./status.tsx";
import { Id } from "./values.tsx";

interface ErrorNoticeProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
  /** Members of the request whose faults stand under their own fields. */
  readonly underFields?: readonly string[];
}

/** Error of a page or a command: title, detail, code, request id. */
export function ErrorNotice({ error, onRetry, underFields = [] }: ErrorNoticeProps) {
  if (error === null || error === undefined) return null;
  const { title, detail, status, code, request_id, errors = [] } = problemOf(error);
  const elsewhere = errors.filter(({ pointer = "" }) => !underFields.includes(pointer.split("/")[1] ?? ""));
  return (
    <div className="notice" role="alert">
      <Mark shape="octagon" tone="bad" />
      <div>
        <div className="strong">{title}</div>
        <p>{detail}</p>
        {elsewhere.map((fault) => (
          <p key={`${fault.pointer ?? fault.parameter ?? fault.header} ${fault.code}`}>
            {fault.pointer ?? fault.parameter ?? fault.header}: {fault.detail}
          </p>
        ))}
        <p className="dim">
          {status > 0 && `${status} `}
          {code}
          {request_id && (
            <>
              , request <Id id={request_id} />
            </>
          )}
        </p>
      </div>
      {onRetry && (
        <Button variant="default" onClick={onRetry}>
          Retry
        </Button>
      )}
    </div>
  );
}

/** Why a command was refused, or that it is not known what became of it. */
export function CommandError({ error, underFields = [] }: ErrorNoticeProps) {
  return (
    <>
      <ErrorNotice error={error} underFields={underFields} />
      {isUnanswered(error) && (
        <div className="notice warning" role="status">
          <Mark shape="triangle" tone="warn" />
          <p>
            <strong>It may have been done.</strong> Send it again without a change: it is done once, and you see the
            result.
          </p>
        </div>
      )}
    </>
  );
}

/** Text of a list without items. */
export interface EmptyText {
  readonly title: string;
  readonly text: string;
  readonly action?: ReactNode;
}

/** An empty list: what belongs there and what to do next, or the filters that nothing fits. */
export function Empty({ empty, filters = [] }: { readonly empty: EmptyText; readonly filters?: readonly Filter[] }) {
  const [search, change] = useAddress();
  const set = filters.filter(({ name }) => search[name] !== undefined);
  if (set.length === 0) {
    return (
      <div className="empty">
        <h2>{empty.title}</h2>
        <p className="dim">{empty.text}</p>
        {empty.action}
      </div>
    );
  }
  const clear = () => change(Object.fromEntries(set.map(({ name }) => [name, undefined])));
  return (
    <div className="empty">
      <h2>
        Nothing matches {set.length} {set.length === 1 ? "filter" : "filters"}
      </h2>
      <div className="chips">
        {set.map(({ name, label }) => (
          <span key={name} className="chip">
            {label.toLowerCase()} <strong>{inWords(search[name] ?? "")}</strong>
            <button
              type="button"
              aria-label={`Remove the filter ${label}`}
              onClick={() => change({ [name]: undefined })}
            >
              <Icon name="close" small />
            </button>
          </span>
        ))}
        <button type="button" className="plain" onClick={clear}>
          Clear {set.length === 1 ? "it" : set.length === 2 ? "both" : "all"}
        </button>
      </div>
    </div>
  );
}

/** An error in the place of a whole page. */
export function FailedPage({ error, again }: { readonly error: unknown; readonly again: () => void }) {
  return (
    <>
      <h1 className="hidden-text">{problemOf(error).title}</h1>
      <Failed error={error} again={again} />
    </>
  );
}

/** An error of a part that has nothing to show yet. */
export function Failed({ error, again }: { readonly error: unknown; readonly again: () => void }) {
  return (
    <div className="panel">
      <ErrorNotice error={error} onRetry={again} />
    </div>
  );
}
