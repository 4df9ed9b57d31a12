import { jobs } from "../../shared/table/entities.ts";
import { itemOf } from "../../shared/table/write.ts";
import type { TestApi } from "../support/emulator/api.ts";
import { putRaw } from "../support/emulator/deliveries.ts";
import { newCaller } from "../support/emulator/request.ts";
import type { Asked } from "./workload.ts";

const body = { type: "clients", parameters: {} } as const;

/** A request for each row of jobs. */
export function jobWork(api: TestApi): Record<string, () => Promise<Asked>> {
  const own = async () => {
    const as = newCaller();
    const answer = await api.call(as, "POST", "/jobs", { body });
    return { as, job: answer.body, address: `/jobs/${answer.body.id}` };
  };
  return {
    create_job: async () => ({ as: (await own()).as, address: "/jobs", parts: { body } }),
    list_jobs: async () => ({ as: (await own()).as, address: "/jobs" }),
    get_job: async () => {
      const { as, address } = await own();
      return { as, address };
    },
    cancel_job: async () => {
      const { as, address } = await own();
      return { as, address: `${address}/cancel` };
    },
    create_job_links: async () => {
      const signer = { AWS_ACCESS_KEY_ID: "bench", AWS_SECRET_ACCESS_KEY: "bench", AWS_REGION: "eu-west-1" };
      Object.assign(process.env, signer, { EXPORT_BUCKET_NAME: "exports" });
      const { as, job, address } = await own();
      const { tenant_id } = as;
      const [key, sha256] = [`${tenant_id}/${job.id}/001-A`, "0".repeat(64)];
      const file = { key, name: "clients-20261129-001.csv", rows: 1, bytes: 1, sha256 };
      const work = { tenant_id, files: [file], manifest: { key, sha256 }, percent: 100, unreadable: 0, position: null };
      const ended = { status: "succeeded", completed_at: job.created_at, tries: 0, wake_at: null };
      const { object: _o, progress: _p, result: _r, _links, ...fields } = job;
      const expires_at = Math.floor(Date.now() / 1000) + 86_400;
      await putRaw(api, itemOf(jobs, { ...fields, ...work, ...ended, expires_at }));
      return { as, address: `${address}/links` };
    },
  };
}
