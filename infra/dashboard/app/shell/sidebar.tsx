import { countOf } from "../api/data.ts";
import { useStore } from "../api/store.ts";
import { useIdentities } from "../pages/customers/identities.ts";
import { useApprovals } from "../pages/money/approval-data.ts";
import { useMarginAlerts } from "../pages/trading/margin-alerts.ts";
import { usePath } from "../parts/address.ts";
import { Icon } from "../parts/icons.tsx";
import { Go } from "../parts/values.tsx";
import { useCaller } from "../session/caller.ts";
import { session, signOut, switchBrokerage } from "../session/session.ts";
import { currentEntry, type Entry, openTo } from "./navigation.ts";
import { RequestBar } from "./request-bar.tsx";

/** Brokerage, environment, and what the person may open. */
export function Sidebar({ open, onGo }: { readonly open: boolean; readonly onGo: () => void }) {
  const { environment, scopes } = useCaller();
  const current = currentEntry(usePath());
  return (
    <div className={open ? "side open" : "side"}>
      <div className="brand">
        <span>Brokerage</span>
        <Environment environment={environment} />
      </div>
      <nav aria-label="Main">
        {openTo(scopes, environment).map(({ name, entries }) => (
          <div key={name ?? ""}>
            {name && <h2>{name}</h2>}
            {entries.map((entry) => (
              <Go
                key={entry.to}
                to={entry.to}
                current={entry.to === current}
                className={entry.nested ? "nested" : undefined}
                onGo={onGo}
              >
                {!entry.nested && <Icon name={entry.icon} />}
                <span>{entry.name}</span>
                {entry.counter && <Counter of={entry.counter} />}
              </Go>
            ))}
          </div>
        ))}
      </nav>
      {open && <RequestBar />}
      <Person />
    </div>
  );
}

/** Production or sandbox, on every screen. */
export function Environment({ environment }: { readonly environment: string }) {
  const sandbox = environment === "sandbox";
  return <span className={sandbox ? "environment sandbox" : "environment"}>{sandbox ? "Sandbox" : "Production"}</span>;
}

function Person() {
  const { operator } = useCaller();
  const now = useStore(session);
  return (
    <div className="person">
      <div>
        <strong>{operator?.name ?? "Application"}</strong>
        <span className="dim">{operator?.role}</span>
      </div>
      {now.state === "in" && now.chosen && (
        <button
          type="button"
          className="plain quiet"
          aria-label="Switch brokerage"
          title="Switch brokerage"
          onClick={() => void switchBrokerage()}
        >
          <Icon name="menu" />
        </button>
      )}
      <button
        type="button"
        className="plain quiet"
        aria-label="Sign out"
        title="Sign out"
        onClick={() => void signOut()}
      >
        <Icon name="leave" />
      </button>
    </div>
  );
}

function Counter({ of }: { readonly of: NonNullable<Entry["counter"]> }) {
  if (of === "identities") return <IdentitiesCounter />;
  return of === "margin" ? <MarginCounter /> : <ApprovalsCounter />;
}

function IdentitiesCounter() {
  return <span className="count">{countOf(useIdentities("decision"))}</span>;
}

function ApprovalsCounter() {
  return <span className="count">{countOf(useApprovals())}</span>;
}

function MarginCounter() {
  return <span className="count">{countOf(useMarginAlerts())}</span>;
}
