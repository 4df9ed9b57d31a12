import { answeredAt } from "../api/requests.ts";
import { useStore } from "../api/store.ts";
import { useClock } from "../parts/clock.ts";
import { lengthOf } from "../parts/format.ts";
import { Icon } from "../parts/icons.tsx";
import { Mark } from "../parts/status.tsx";
import { useCaller } from "../session/caller.ts";
import { SearchBox } from "./search-box.tsx";
import { Environment } from "./sidebar.tsx";
import { colorScheme, switchColorScheme } from "./theme.ts";

const staleAfterMs = 20_000;

/** Search, age of what is shown, the UTC clock, theme and help. */
export function TopBar({ onMenu, onHelp }: { readonly onMenu: () => void; readonly onHelp: () => void }) {
  const dark = useStore(colorScheme) === "dark";
  const time = useClock((now) => `${new Date(now).toISOString().slice(11, 19)} UTC`);
  return (
    <header className="top">
      <button type="button" className="menu-button" aria-label="Menu" onClick={onMenu}>
        <Icon name="menu" />
      </button>
      <SearchBox />
      <div className="right">
        <span className="small-environment">
          <Environment environment={useCaller().environment} />
        </span>
        <PageAge />
        <span className="clock dim">{time}</span>
        <button
          type="button"
          className="plain quiet"
          aria-label={dark ? "Light theme" : "Dark theme"}
          onClick={switchColorScheme}
        >
          <Icon name={dark ? "sun" : "moon"} />
        </button>
        <button type="button" className="plain quiet help-button" aria-label="Keys" onClick={onHelp}>
          <Icon name="help" />
        </button>
      </div>
    </header>
  );
}

function PageAge() {
  const at = useStore(answeredAt);
  const age = useClock((now) => lengthOf(now - at));
  const stale = useClock((now) => now - at > staleAfterMs);
  if (at === 0) return null;
  return (
    <span className="with-icon">
      <Mark shape={stale ? "triangle" : "tick"} tone={stale ? "warn" : "ok"} />
      <span className={stale ? "warn" : undefined}>
        <span className="updated-word">Updated </span>
        {age}
        <span className="updated-word"> ago</span>
      </span>
    </span>
  );
}
