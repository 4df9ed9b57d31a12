import { config } from "../api/config.ts";
import { live } from "../api/live.ts";
import { asCurl, lastRequest } from "../api/requests.ts";
import { useStore } from "../api/store.ts";
import { CopyText } from "../parts/values.tsx";

/** The request behind the page: what a program would send to see the same. */
export function RequestBar() {
  const { request, count } = useStore(lastRequest);
  const isLive = useStore(live);
  if (request === undefined) return <footer className="request" />;
  const { method, path, status, ms, request_id, etag } = request;
  return (
    <footer className="request">
      <span className="hidden-text">Request behind this page</span>
      <code>
        {method} {path}
      </code>
      <span className={status >= 400 ? "bad" : undefined}>{status}</span>
      <span>{ms} ms</span>
      {etag && <span>ETag {etag}</span>}
      <span className="right">
        {count > 1 && <span>and {count - 1} more on this page</span>}
        <span>{isLive ? "Live" : "Polling"}</span>
        <code title={request_id}>{request_id}</code>
        <CopyText text={asCurl(request, config().api_url)} word="Copy as curl" />
      </span>
    </footer>
  );
}
