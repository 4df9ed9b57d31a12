import { Outlet, useRouter } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { config } from "../api/config.ts";
import { queryClient, useResource } from "../api/data.ts";
import { startLive } from "../api/live.ts";
import { asCurl, lastRequest, outage, startPage } from "../api/requests.ts";
import { useStore } from "../api/store.ts";
import { usePath } from "../parts/address.ts";
import { useClock } from "../parts/clock.ts";
import { announcement, DialogHost } from "../parts/dialog-host.tsx";
import { useKeys } from "../parts/keys.ts";
import { ErrorNotice } from "../parts/states-of-page.tsx";
import { Mark } from "../parts/status.tsx";
import { CallerContext } from "../session/caller.ts";
import { openTo } from "./navigation.ts";
import { RequestBar } from "./request-bar.tsx";
import { Sidebar } from "./sidebar.tsx";
import { TopBar } from "./top-bar.tsx";

const Help = lazy(() => import("./help.tsx").then(({ Help: component }) => ({ default: component })));

/** The frame of every page: it knows who is signed in. */
export function Shell() {
  const { data: caller, error, refetch } = useResource("/me");
  const [menu, setMenu] = useState(false);
  const [help, setHelp] = useState(false);
  const path = usePath();
  const main = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new path is a new page
  useEffect(() => {
    startPage();
    setMenu(false);
    main.current?.scrollTo(0, 0);
  }, [path]);
  const scopes = caller?.scopes.join(" ");
  useEffect(() => (scopes === undefined ? undefined : startLive(queryClient, scopes.split(" "))), [scopes]);
  if (caller === undefined) {
    return (
      <div className="entrance">
        <div className="box waiting">
          {error === null ? (
            <p role="status">Loading…</p>
          ) : (
            <ErrorNotice error={error} onRetry={() => void refetch()} />
          )}
        </div>
      </div>
    );
  }
  return (
    <CallerContext value={caller}>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <ShellKeys scopes={caller.scopes} environment={caller.environment} onHelp={() => setHelp(true)} />
      <div className="shell">
        <Sidebar open={menu} onGo={() => setMenu(false)} />
        <TopBar onMenu={() => setMenu(!menu)} onHelp={() => setHelp(true)} />
        <main id="main" className="main" ref={main} tabIndex={-1}>
          <Outage />
          <Outlet />
          <Announcement />
        </main>
        <RequestBar />
      </div>
      <DialogHost />
      <Suspense>{help && <Help onClose={() => setHelp(false)} />}</Suspense>
    </CallerContext>
  );
}

const announcedForMs = 6_000;

/** The last action, for a moment. */
function Announcement() {
  const done = useStore(announcement);
  const isShown = useClock((now) => done !== undefined && now - done.at < announcedForMs);
  return (
    <div className={isShown ? "announcement shown" : "announcement"} role="status">
      {isShown && done?.text}
    </div>
  );
}

function Outage() {
  const now = useStore(outage);
  if (now === undefined) return null;
  return (
    <div className={now.slow ? "banner slow" : "banner"} role="status">
      <Mark shape={now.slow ? "triangle" : "octagon"} tone={now.slow ? "warn" : "bad"} />
      {now.text}
    </div>
  );
}

interface ShellKeysProps {
  readonly scopes: readonly string[];
  readonly environment: string;
  readonly onHelp: () => void;
}

function ShellKeys({ scopes, environment, onHelp }: ShellKeysProps) {
  const { history } = useRouter();
  const entries = openTo(scopes, environment).flatMap((group) => group.entries);
  const copy = () => {
    const { request } = lastRequest.get();
    if (request !== undefined) void navigator.clipboard.writeText(asCurl(request, config().api_url));
  };
  useKeys({
    ...Object.fromEntries(entries.map(({ key, to }) => [`g ${key}`, () => history.push(to)])),
    "?": onHelp,
    c: copy,
  });
  return null;
}
