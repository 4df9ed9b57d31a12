import { useEffect, useRef } from "react";

type Handlers = Readonly<Record<string, (() => void) | undefined>>;

/** Whether a key belongs to what has the focus: a field, or an open dialog. */
function isTaken({ target, metaKey, ctrlKey, altKey }: KeyboardEvent): boolean {
  if (metaKey || ctrlKey || altKey) return true;
  if (document.querySelector("[role=dialog],[role=alertdialog],[role=menu]") !== null) return true;
  return target instanceof HTMLElement && target.closest("input,select,textarea,[contenteditable]") !== null;
}

/** Keys of a page; `g c` is a `g` followed by a `c` within a second. */
export function useKeys(handlers: Handlers): void {
  const current = useRef(handlers);
  current.current = handlers;
  useEffect(() => {
    let leader = { key: "", at: 0 };
    const onKey = (event: KeyboardEvent) => {
      if (isTaken(event)) return;
      const pair = leader.key !== "" && event.timeStamp - leader.at < 1000 ? `${leader.key} ${event.key}` : event.key;
      leader = { key: "", at: 0 };
      const run = current.current[pair];
      if (run !== undefined) {
        event.preventDefault();
        run();
      } else if (event.key === "g") leader = { key: "g", at: event.timeStamp };
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

/** Moves the focus among the rows of a table. */
export function moveInRows(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("main .row-link")];
  const at = links.indexOf(document.activeElement as HTMLElement);
  const next = links[at === -1 && step === -1 ? links.length - 1 : at + step];
  next?.focus();
}
