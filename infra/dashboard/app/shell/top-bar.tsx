import { freshness } from "../api/data.ts";
import { useStore } from "../api/store.ts";
import { useClock } from "../parts/clock.ts";
import { lengthOf, timeOf } from "../parts/format.ts";
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

/** How old the oldest of what the page shows is, or since when it could not be read again. */
function PageAge() {
  const stale = useClock((now) => {
    const { readAt = now, failed } = freshness(now);
    return failed || now - readAt > staleAfterMs;
  });
  const words = useClock((now) => {
    const { readAt, failed } = freshness(now);
    if (readAt === undefined) return failed ? "|Not loaded|" : "";
    return failed ? `Not updated |since ${timeOf(readAt)}|` : `Updated |${lengthOf(now - readAt)}| ago`;
  });
  if (words === "") return null;
  const [before, age, after] = words.split("|");
  return (
    <span className="with-icon">
      <Mark shape={stale ? "triangle" : "tick"} tone={stale ? "warn" : "ok"} />
      <span className={stale ? "warn" : undefined}>
        <span className="updated-word">{before}</span>
        {age}
        <span className="updated-word">{after}</span>
      </span>
    </span>
  );
}
