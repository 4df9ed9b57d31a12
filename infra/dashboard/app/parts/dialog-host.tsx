import { useBlocker } from "@tanstack/react-router";
import { createContext, type ReactNode, useContext, useEffect } from "react";
import { isSending } from "../api/data.ts";
import { createStore, useStore } from "../api/store.ts";
import { usePath } from "./address.ts";

/** Content of a dialog; it closes itself by the function. */
export type Dialog = (close: () => void) => ReactNode;

/** The dialogs that are open, in the order in which they were opened. */
const open = createStore<readonly { readonly dialog: Dialog; readonly number: number }[]>([]);
let count = 0;

/**
 * Shows a dialog. It stays until it closes itself or another page is shown, whatever becomes of its button. One that
 * was opened from another dialog leads back to that one, with what was entered there.
 */
export function openDialog(dialog: Dialog): void {
  count += 1;
  open.set([...open.get(), { dialog, number: count }]);
}

const Shown = createContext(true);

/** Whether a dialog is the one that is shown, and not one that waits behind it. */
export function useIsShown(): boolean {
  return useContext(Shown);
}

/** The place of the dialogs that are open, of which the last one is shown. */
export function DialogHost() {
  const all = useStore(open);
  const path = usePath();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a dialog belongs to the page that it was opened on
  useEffect(() => () => open.set([]), [path]);
  return all.map(({ dialog, number }, place) => (
    <Shown key={number} value={place === all.length - 1}>
      {dialog(() => open.set(open.get().filter((one) => one.number !== number)))}
    </Shown>
  ));
}

/** Keeps the page while it sends a command, until the service has answered: the person is to see what became of it. */
export function useHeldWhileSending(): void {
  useBlocker({ shouldBlockFn: isSending, enableBeforeUnload: isSending });
}

/** The last action, for a moment. */
export const announcement = createStore<{ readonly text: string; readonly at: number } | undefined>(undefined);

/** Says that something was done. */
export function announce(text: string): void {
  announcement.set({ text, at: Date.now() });
}
