import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The members of a cloud assembly's manifest that are read and changed. */
interface Manifest {
  readonly artifacts: Readonly<Record<string, { readonly properties?: { terminationProtection?: boolean } }>>;
}

/**
 * Hands over a copy of a cloud assembly that leaves the stack without termination protection, and removes it afterward.
 * The CDK enables the protection before a creation succeeds, and could then not repeat one that failed: it would have
 * to delete what is left of the stack. Templates and assets are the same, so the assembly itself then changes no
 * resource.
 * @param folder the assembly, which stays as it is
 * @param stackName name of the stack, which is that of its artifact
 */
export async function withoutTerminationProtection(
  folder: string,
  stackName: string,
  use: (copy: string) => Promise<void>,
): Promise<void> {
  const copy = mkdtempSync(join(tmpdir(), "first-creation-"));
  try {
    cpSync(folder, copy, { recursive: true });
    const file = join(copy, "manifest.json");
    const manifest = JSON.parse(readFileSync(file, "utf8")) as Manifest;
    const properties = manifest.artifacts[stackName]?.properties;
    if (properties !== undefined) properties.terminationProtection = false;
    writeFileSync(file, JSON.stringify(manifest));
    await use(copy);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
