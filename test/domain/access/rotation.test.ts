import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draftApplication, rotateSecret, secretLives } from "../../../shared/domain/access/application.ts";
import type { Application } from "../../../shared/domain/records/application.ts";
import { openEndpoint, rotateEndpointSecret } from "../../../shared/domain/webhooks/decisions.ts";
import { scopes } from "../../../shared/schema/scope.ts";
import { accepted, decisionContext, decisionTime, tenantId } from "../../support/builders/decisions.ts";

/** A rotation after so many seconds; undefined asks for no grace. */
const step = fc.record({
  after: fc.integer({ min: 0, max: 100_000 }),
  grace: fc.option(fc.integer({ min: 1, max: 86_400 }), { nil: 0, freq: 1 }),
});
const steps = fc.array(step, { minLength: 1, maxLength: 8 });

/** One secret that was shown, and when it ends; null while it is the newest. */
interface Shown {
  readonly secret: string;
  endsMs: number | null;
}

/** The secrets that work by the model: the newest secret, and one before it until its time. */
function model(shown: Shown[], secret: string, graceSeconds: number, nowMs: number) {
  for (const each of shown) {
    if (graceSeconds === 0) each.endsMs = Math.min(each.endsMs ?? nowMs, nowMs);
    else each.endsMs ??= nowMs + graceSeconds * 1000;
  }
  shown.push({ secret, endsMs: null });
}

const living = (shown: readonly Shown[], nowMs: number) =>
  shown.filter(({ endsMs }) => endsMs === null || nowMs < endsMs).map(({ secret }) => secret);

const draws = { id: "app_01JD0000000000000000000001", client_id: "app_A", api_key_seed: "seed" };
const draft = { tenant_id: tenantId, environment: "sandbox", name: "CRM", allowed_ips: [], scopes } as const;
const drawn = (secret: string) => ({ secret, sha256: `hash of ${secret}` });
const signing = (secret: string) => ({ plain: secret, sealed: secret });

/** Runs a program against the rotation of a kind. One that is refused changes nothing. */
function run(program: readonly { after: number; grace: number }[], kind: RotatingKind) {
  let nowMs = Date.parse(decisionTime);
  const shown: Shown[] = [{ secret: "secret 0", endsMs: null }];
  for (const [index, { after, grace }] of program.entries()) {
    nowMs += after * 1000;
    const overlaps = living(shown, nowMs).length > 1;
    const secret = `secret ${index + 1}`;
    const done = kind.rotate(secret, grace, new Date(nowMs).toISOString());
    expect(done).toBe(grace === 0 || !overlaps);
    if (done) model(shown, secret, grace, nowMs);
    for (const moment of [nowMs, nowMs + 1000, nowMs + 86_400_000, nowMs + 86_400_001]) {
      const expected = living(shown, moment);
      expect(shown.map((each) => each.secret).filter((each) => kind.works(each, moment))).toEqual(expected);
      if (done && grace === 0) expect(expected).toEqual([secret]);
    }
  }
}

interface RotatingKind {
  /** Whether the rotation was done. */
  readonly rotate: (secret: string, grace: number, now: string) => boolean;
  readonly works: (secret: string, nowMs: number) => boolean;
}

function applicationKind(): RotatingKind {
  let item: Application = draftApplication(draft, {
    ...draws,
    secret_sha256: drawn("secret 0").sha256,
    now: decisionTime,
  });
  const numbers = new Map([["secret 0", 1]]);
  return {
    rotate: (secret, grace_seconds, now) => {
      const decision = rotateSecret(item, { grace_seconds }, drawn(secret), decisionContext({ scopes, now }));
      if (!decision.ok) return false;
      item = decision.result.application;
      numbers.set(secret, item.secret_number);
      return true;
    },
    // As a client authenticates: by the hash of its secret, and then by its number, as its tokens are judged.
    works: (secret, nowMs) => {
      const { sha256 } = drawn(secret);
      const known = [item.secret_sha256, item.previous_secret_sha256].includes(sha256);
      const lives = secretLives(item, numbers.get(secret) ?? 0, nowMs);
      if (lives) expect(known).toBe(true);
      return known && lives;
    },
  };
}

function endpointKind(): RotatingKind {
  const request = { url: "https://receiver.example/", event_types: ["*"] as ["*"] };
  const rules = { local: false, unknownAccounts: [] };
  const opened = { ...signing("secret 0"), id: "whe_01JD0000000000000000000001" };
  let shown = accepted(openEndpoint(request, undefined, opened, rules, decisionContext({ scopes }))).result;
  return {
    rotate: (secret, grace_seconds, now) => {
      const decision = rotateEndpointSecret(
        shown,
        { grace_seconds },
        signing(secret),
        decisionContext({ scopes, now }),
      );
      if (decision.ok) shown = decision.result;
      return decision.ok;
    },
    works: (secret, nowMs) => {
      const { secret: current, previous_secret, previous_secret_expires_at: until } = shown.endpoint;
      return secret === current || (secret === previous_secret && until !== null && nowMs < Date.parse(until));
    },
  };
}

describe("in every order of rotations, each without grace works and leaves the newest secret alone,", () => {
  it.each([
    ["of an application", applicationKind],
    ["of a webhook endpoint", endpointKind],
  ])("%s", (_, kind) => {
    fc.assert(
      fc.property(steps, (program) => run(program, kind())),
      { numRuns: 500 },
    );
  });
});
