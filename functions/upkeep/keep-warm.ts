import { keepWarm } from "../../shared/usage/keep-warm.ts";

/** Runs on a schedule, whose input names the functions: keeps an environment of each of them. */
export async function handler({ functions: ids }: { readonly functions: string }): Promise<void> {
  await keepWarm(ids.split(" "));
}
