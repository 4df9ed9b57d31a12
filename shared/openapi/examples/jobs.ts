import { completed_at, created_at, exampleIds, links } from "./identifiers.ts";

const id = exampleIds["jobs"] ?? "";
const expires_at = "2026-11-28T06:35:12.000Z";

/** A job that has succeeded. */
const job = {
  id,
  object: "job",
  type: "transactions",
  status: "succeeded",
  parameters: { created_from: "2026-11-01T00:00:00Z", format: "csv" },
  progress: { percent: 100, rows: 1289, files: 1 },
  error: null,
  as_of: created_at,
  created_by: exampleIds["applications"] ?? "",
  started_at: created_at,
  completed_at,
  downloads: 0,
  result: {
    rows: 1289,
    bytes: 482_311,
    unreadable: 0,
    files: [
      {
        name: "transactions-20261121-001.csv",
        rows: 1289,
        bytes: 482_311,
        sha256: "5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592",
      },
    ],
    sha256: "9c22ff5f21f0b81b113e63f7db6da94fedef11b2119b4088b89664fb9a3cb658",
    expires_at,
  },
  created_at,
  updated_at: completed_at,
  version: 3,
  _links: links({ self: `/jobs/${id}` }),
};

/** Examples of jobs, by component. */
export const jobReplies: Readonly<Record<string, unknown>> = {
  Job: job,
  JobLinks: {
    object: "job_links",
    files: [
      {
        name: `${id}-manifest.json`,
        signed_url: "https://exports.s3.eu-west-1.amazonaws.com/brk/job/manifest?X-Amz-Expires=300",
        expires_at: completed_at,
      },
    ],
  },
};
