/**
 * The answer of a call to another service, or undefined for the one error that says that there is nothing left to do:
 * every step of provisioning can run twice.
 */
export async function unless<T>(name: string, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if ((error as Error).name !== name) throw error;
    return undefined;
  }
}
