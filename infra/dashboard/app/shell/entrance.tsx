import { Button } from "@mantine/core";
import { queryClient } from "../api/data.ts";
import { Mark } from "../parts/status.tsx";
import { type Brokerage, chooseBrokerage, type Session, signIn } from "../session/session.ts";

/** The page without a session. The address stays, so that the page of a session that has ended comes back. */
export function Entrance({ session }: { readonly session: Exclude<Session, { state: "in" }> }) {
  return (
    <main className="entrance">
      <div className={session.state === "starting" ? "box waiting" : "box"}>
        <h1>Brokerage</h1>
        {session.state === "starting" && <p role="status">Signing in…</p>}
        {session.state === "out" && <SignIn reason={session.reason} />}
        {session.state === "choose" && <Choose brokerages={session.brokerages} />}
      </div>
    </main>
  );
}

function SignIn({ reason }: { readonly reason: string | undefined }) {
  return (
    <>
      {reason && (
        <div className="notice warning" role="alert">
          <Mark shape="triangle" tone="warn" />
          <p>{reason}</p>
        </div>
      )}
      <p className="dim">Operators sign in with their email address, password and second factor.</p>
      <Button onClick={() => void signIn()}>Sign in</Button>
    </>
  );
}

function Choose({ brokerages }: { readonly brokerages: readonly Brokerage[] }) {
  const choose = (id: string) => {
    // Cached data belongs to the brokerage of before.
    queryClient.clear();
    void chooseBrokerage(id);
  };
  return (
    <>
      <p>You are an operator of several brokerages. Choose one.</p>
      {brokerages.map(({ id, name }) => (
        <Button key={id} variant="default" onClick={() => choose(id)}>
          {name ?? <code>{id}</code>}
        </Button>
      ))}
    </>
  );
}
