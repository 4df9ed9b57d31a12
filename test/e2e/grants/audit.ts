import type { Stack } from "../../support/stack/stack.ts";
import { eventually } from "../../support/wait.ts";
import { missing, type StoryOptions } from "./stack.ts";

/** A day that is sealed by two runs: the first one dies when its objects are written and their end is not noted. */
export async function tellOfSealing({ stack, saboteur }: Pick<StoryOptions, "stack" | "saboteur">): Promise<void> {
  const name = "brokerage-sandbox-seal-audit";
  const last = `${name} TransactWriteItems`;
  const seal = () => stack.cloud.invoke(name, { action: "seal" });
  await eventually(async () => {
    // The schedule may have sealed the last days of the brokerages that were there.
    await stack.newApplication();
    saboteur.targets.add(last);
    await seal().catch(() => undefined);
    saboteur.targets.delete(last);
    await seal();
    return missing(stack, "seal-audit").length === 0 || undefined;
  });
}

/** Refusals of one kind within a minute: the second one changes the tally that the first one has made. */
export async function tellOfRefusals(stack: Stack): Promise<void> {
  const { api } = await stack.newApplication({ scopes: ["clients:read"] });
  await eventually(async () => {
    await api.call("GET", "/events");
    return missing(stack, "record-refusals Update").length === 0 || undefined;
  });
}
