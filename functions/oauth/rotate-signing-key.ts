import { type RotationStep, rotate } from "../../shared/oauth/rotation.ts";

/** Rotation of the signing key, asked by Secrets Manager step by step. */
export async function handler(event: RotationStep): Promise<void> {
  await rotate(event);
}
