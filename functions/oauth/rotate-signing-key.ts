import { type RotationStep, rotate } from "../../shared/oauth/rotation.ts";

/** Rotation of the signing key. Secrets Manager invokes it for every step. */
export async function handler(event: RotationStep): Promise<void> {
  await rotate(event);
}
