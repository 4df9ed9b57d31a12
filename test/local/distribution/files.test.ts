import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { copierFunctions, deployFiles } from "../../../infra/local/distribution/files.ts";
import type { Resource } from "../../../infra/local/template/assembly.ts";
import { temporaryFolder } from "../fixture.ts";
import { resource } from "./fixture.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());

/** An asset of the assembly with these files. */
function asset(name: string, files: Readonly<Record<string, string>>): string {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(folder.path, name, file, ".."), { recursive: true });
    writeFileSync(join(folder.path, name, file), text);
  }
  return join(folder.path, name);
}

const page = asset("page", { "index.html": "<!doctype html>", "deep/er/a.css": "" });
const settings = asset("settings", { "config.json": '{"issuer":"https://<<marker:0>>/x","name":"<<marker:1>>"}' });
const markers = [{}, { "<<marker:0>>": "pool.example", "<<marker:1>>": 'a "name"' }];

function deployment(changes: Record<string, unknown>, sources = [page, settings]): Resource {
  const properties = { DestinationBucketName: "files", Prune: false, ServiceToken: "arn:copier", ...changes };
  return { ...resource("Custom::CDKBucketDeployment", "copy", properties), sources };
}

/** Objects of a deployment, in its order. */
function stored(changes: Record<string, unknown>, sources?: string[]) {
  const objects: [key: string, body: string, headers: object][] = [];
  deployFiles(
    [deployment(changes, sources)],
    (bucket, key, body, headers) => {
      objects.push([`${bucket}/${key}`, Buffer.from(body).toString(), headers]);
    },
    (text) => text.replace("https://pool.example", "http://127.0.0.1:1"),
  );
  return objects;
}

describe("a deployment of files", () => {
  it("stores every file of its assets below its prefix, with its type and the headers of the deployment", () => {
    const changes = { DestinationBucketKeyPrefix: "assets", SystemMetadata: { "cache-control": "no-cache" } };
    const objects = stored(changes, [page]);
    expect(objects.map(([key, , headers]) => [key, headers]).sort()).toEqual([
      ["files/assets/deep/er/a.css", { "content-type": "text/css", "cache-control": "no-cache" }],
      ["files/assets/index.html", { "content-type": "text/html", "cache-control": "no-cache" }],
    ]);
  });

  it("puts values of the stack into its documents, with addresses of this machine, and stays JSON", () => {
    const changes = { SourceMarkers: markers, SourceMarkersConfig: [{}, { jsonEscape: true }] };
    const [, , config] = stored(changes);
    expect(config?.[0]).toBe("files/config.json");
    expect(JSON.parse(config?.[1] ?? "")).toEqual({ issuer: "http://127.0.0.1:1/x", name: 'a "name"' });
  });

  it.each<[string, Record<string, unknown>, string[] | undefined, string]>([
    ["that removes other files", { Prune: true }, undefined, "Prune"],
    ["with other headers", { SystemMetadata: { "content-language": "de" } }, undefined, "content-language"],
    ["with values outside of JSON", { SourceMarkers: markers }, undefined, "JSON files only"],
    ["of an unknown type", {}, [asset("strange", { "a.exe": "" })], "a.exe"],
  ])("%s stops the runner and is named", (_, changes, sources, message) => {
    expect(() => stored(changes, sources)).toThrow(message);
    expect(() => stored(changes, sources)).toThrow("stack/copy");
  });

  it("names the function that copies on AWS, which does not run here", () => {
    expect([...copierFunctions([deployment({}), resource("AWS::S3::Bucket", "files", {})])]).toEqual(["arn:copier"]);
  });
});
