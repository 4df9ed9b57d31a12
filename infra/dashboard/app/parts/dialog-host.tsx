import { useBlocker } from "@tanstack/react-router";
import { Fragment, type ReactNode, useEffect } from "react";
import { isSending } from "../api/data.ts";
import { createStore, useStore } from "../api/store.ts";
import { usePath } from "./address.ts";

/** What a dialog shows; it closes itself by the function. */
export type Dialog = (close: () => void) => ReactNode;

const shown = createStore<{ readonly dialog: Dialog; readonly number: number } | undefined>(undefined);
let count = 0;

/** Shows a dialog. It stays until it closes itself or another page is shown, whatever becomes of its button. */
export function openDialog(dialog: Dialog): void {
  count += 1;
  shown.set({ dialog, number: count });
}

/** The place of the dialog that is open. */
export function DialogHost() {
  const now = useStore(shown);
  const path = usePath();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a dialog belongs to the page that it was opened on
  useEffect(() => () => shown.set(undefined), [path]);
  if (now === undefined) return null;
  const close = () => {
    if (shown.get()?.number === now.number) shown.set(undefined);
  };
  return <Fragment key={now.number}>{now.dialog(close)}</Fragment>;
}

/** Keeps the page while it sends a command, until the service has answered: the person is to see what became of it. */
export function useHeldWhileSending(): void {
  useBlocker({ shouldBlockFn: isSending, enableBeforeUnload: isSending });
}

/** What was done last, for a moment. */
export const announcement = createStore<{ readonly text: string; readonly at: number } | undefined>(undefined);

/** Says that something was done. */
export function announce(text: string): void {
  announcement.set({ text, at: Date.now() });
}
