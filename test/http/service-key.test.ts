import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { deriveKey, open, seal } from "../../shared/runtime/service-key.ts";
import { type SecretsManager, startSecretsManager } from "../support/emulator/secrets-manager.ts";

let manager: SecretsManager;
beforeAll(async () => {
  manager = await startSecretsManager();
  const credentials = { AWS_REGION: "eu-west-1", AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };
  Object.assign(process.env, manager.environment, credentials);
});
afterAll(async () => {
  vi.useRealTimers();
  await manager.stop();
});

describe("a sealed text", () => {
  it("opens with the same purpose, data and salt only, and not when a character of it was changed", async () => {
    const sealed = await seal("a", "plain text", "item 1", "salt");
    expect(sealed).toMatch(/^v1\.[\w-]{16}\.[\w-]{22}\.[\w-]+$/);
    expect(Buffer.from(sealed.split(".")[3] ?? "", "base64url").toString()).not.toContain("plain");
    expect(await open("a", sealed, "item 1", "salt")).toBe("plain text");
    await expect(open("b", sealed, "item 1", "salt")).rejects.toThrow();
    await expect(open("a", sealed, "item 2", "salt")).rejects.toThrow();
    await expect(open("a", sealed, "item 1", "other")).rejects.toThrow();
    await expect(open("a", sealed, "item 1")).rejects.toThrow();
    for (const at of [3, 20, sealed.length - 3]) {
      const changed = sealed.slice(0, at) + (sealed[at] === "A" ? "B" : "A") + sealed.slice(at + 1);
      await expect(open("a", changed, "item 1", "salt"), String(at)).rejects.toThrow();
    }
    for (const text of ["", "v1", "v2.a.b.c", sealed.replace("v1.", "v2."), `${sealed}.x`, "v1.AAAA.AAAA.AAAA"]) {
      await expect(open("a", text, "item 1", "salt"), text).rejects.toThrow("another form");
    }
  });

  it("is different every time, even for an empty text", async () => {
    const texts = await Promise.all(Array.from({ length: 50 }, () => seal("a", "", "item 1")));
    expect(new Set(texts).size).toBe(50);
    for (const text of texts) expect(await open("a", text, "item 1")).toBe("");
  });
});

describe("derived keys", () => {
  it("are the same for the same purpose and salt, and different otherwise", async () => {
    const keys = [await deriveKey("a"), await deriveKey("b"), await deriveKey("a", "s"), await deriveKey("a", "t")];
    expect(new Set(keys.map((key) => key.export().toString("hex"))).size).toBe(4);
    expect(keys.map(({ symmetricKeySize }) => symmetricKeySize)).toEqual([32, 32, 32, 32]);
    expect((await deriveKey("a", "s")).export()).toEqual(keys[2]?.export());
  });

  it("cost one read of the secret in five minutes, and an old reading serves on while the service fails", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 600_000 });
    manager.asked.length = 0;
    const before = await Promise.all([deriveKey("a"), deriveKey("a"), deriveKey("b")]);
    expect(manager.asked).toEqual(["GetSecretValue"]);
    vi.setSystemTime(Date.now() + 299_000);
    await deriveKey("a");
    expect(manager.asked).toHaveLength(1);
    vi.setSystemTime(Date.now() + 2_000);
    manager.failing = true;
    expect((await deriveKey("a")).export()).toEqual(before[0]?.export());
    expect(manager.asked.length).toBeGreaterThan(1);
  });
});
