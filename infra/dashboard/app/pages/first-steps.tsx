import { isKnown, useList } from "../api/data.ts";
import { Panel } from "../parts/page.tsx";
import { Mark } from "../parts/status.tsx";
import { Go } from "../parts/values.tsx";
import { useMay } from "../session/caller.ts";

/** Steps of an owner on the first day, until the brokerage has a client. */
export function FirstSteps() {
  const may = useMay();
  const clients = useList("/clients", { query: { limit: 1 } });
  const isOwner = may("operators:write") && may("applications:write") && may("webhooks:write");
  if (!isOwner || !isKnown(clients) || clients.rows.length > 0 || clients.hasMore) return null;
  return <Steps />;
}

function Steps() {
  const operators = useList("/operators", { query: { limit: 2 } });
  const applications = useList("/applications", { query: { limit: 2 } });
  const endpoints = useList("/webhook_endpoints", { query: { limit: 1 } });
  const steps = [
    ["/operators", "Invite a second person, so that what one proposes another can approve", operators.rows.length > 1],
    ["/settings/api", "Create an application for your programs", applications.rows.length > 1],
    ["/webhooks", "Add an endpoint, so that your systems hear of events", endpoints.rows.length > 0],
    ["/clients", "Create the first client, and open an account for it", false],
  ] as const;
  return (
    <Panel title="First steps">
      <ul className="checks">
        {steps.map(([to, text, done]) => (
          <li key={to}>
            <Mark shape={done ? "tick" : "ring"} tone={done ? "ok" : "accent"} />
            <Go to={to}>{text}</Go>
            <span className="dim">{done ? "done" : ""}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
