import type { Job } from "../domain/records/job.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { signedAddress } from "../runtime/signed-address.ts";

/** Addresses of the manifest and of the files of a job that succeeded, as the API shows them. */
export function linksTo({ id, manifest, files }: Job) {
  const at = new Date(nowMs());
  const seconds = limits.jobs.link_seconds;
  const expires_at = new Date(at.getTime() + seconds * 1000).toISOString();
  const whole = manifest === undefined ? [] : [{ key: manifest.key, name: `${id}-manifest.json` }];
  const shown = [...whole, ...files].map(({ key, name }) => {
    const query = { "response-content-disposition": `attachment; filename="${name}"` };
    const signed_url = signedAddress({ method: "GET", bucket: env.exportBucketName, key, query }, { at, seconds });
    return { name, signed_url, expires_at };
  });
  return { object: "job_links", files: shown } as const;
}
