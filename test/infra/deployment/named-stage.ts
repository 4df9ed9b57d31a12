import { type StageSettings, withSettings } from "../../../infra/stage-settings.ts";
import { type StageConfig, stageConfig } from "../../../infra/stages.ts";
import { keptStage, type SynthesizedStage } from "../assembly.ts";

/** The ARN of a certificate in a region. */
export const certificateIn = (region: string) => `arn:aws:acm:${region}:123456789012:certificate/one`;

/** The settings of an API at a name, of which some may be others. */
export const apiOf = (more: object) => {
  return { api: { domain: "api.example.com", certificate_arn: certificateIn("eu-west-1"), ...more } };
};

const settings: StageSettings = {
  ...apiOf({}),
  stream: { domain: "stream.example.com", certificate_arn: certificateIn("eu-west-1") },
  dashboard: { domain: "dashboard.example.com", certificate_arn: certificateIn("us-east-1") },
  alarm_emails: ["a@example.com", "b@example.com"],
  monthly_budget_usd: 42,
  concurrency: { evaluations: 7 },
};

/** The sandbox with these settings. */
export const namedConfig: StageConfig = withSettings(stageConfig("sandbox"), settings);

/** Its templates, which the files that look at them share. */
export async function namedStage(): Promise<SynthesizedStage> {
  const { api, stream, dashboard, tokenIssuer, tokenAudience, alarmEmails, monthlyBudgetUsd, evaluations } =
    namedConfig;
  if (api === undefined || stream === undefined || dashboard === undefined) throw new Error("A name is missing.");
  const named = { api, stream, dashboard, tokenIssuer, tokenAudience };
  return await keptStage({ stage: "sandbox", config: { ...named, alarmEmails, monthlyBudgetUsd, evaluations } });
}
