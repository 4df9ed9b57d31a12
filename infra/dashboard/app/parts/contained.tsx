import { CatchBoundary } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { usePath } from "./address.ts";
import { Failed } from "./states-of-page.tsx";

/** A part of a page. Where it fails, the failure is shown in its place and the rest of the page stays. */
export function Contained({ children }: { readonly children: ReactNode }) {
  const path = usePath();
  return (
    <CatchBoundary
      getResetKey={() => path}
      errorComponent={({ error, reset }) => <Failed error={error} again={reset} />}
    >
      {children}
    </CatchBoundary>
  );
}
