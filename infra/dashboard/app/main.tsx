import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, useEffect } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api/data.ts";
import { useStore } from "./api/store.ts";
import { forgetAnswers } from "./api/transport.ts";
import { makeRouter } from "./routes.tsx";
import { session, startSession } from "./session/session.ts";
import { Entrance } from "./shell/entrance.tsx";
import { colorScheme } from "./shell/theme.ts";
import { theme } from "./theme/mantine-theme.ts";

const router = makeRouter();

function Application() {
  const current = useStore(session);
  useEffect(() => {
    if (current.state !== "out") return;
    queryClient.clear();
    forgetAnswers();
  }, [current.state]);
  return (
    <MantineProvider
      theme={theme}
      forceColorScheme={useStore(colorScheme)}
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={queryClient}>
        {current.state === "in" ? <RouterProvider router={router} /> : <Entrance session={current} />}
      </QueryClientProvider>
    </MantineProvider>
  );
}

/** Begins the session, again every 5 seconds while the service does not answer. */
async function start(): Promise<void> {
  try {
    const returnTo = await startSession();
    if (returnTo !== undefined) router.history.replace(returnTo);
  } catch {
    session.set({ state: "out", reason: "The service does not answer. This page tries again every 5 seconds." });
    window.setTimeout(() => void start(), 5_000);
  }
}

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no root.");
createRoot(root).render(
  <StrictMode>
    <Application />
  </StrictMode>,
);
void start();
