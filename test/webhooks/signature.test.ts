import { Webhook as StandardWebhook } from "standardwebhooks";
import Stripe from "stripe";
import { Webhook as SvixWebhook } from "svix";
import { describe, expect, it } from "vitest";
import { signatureHeaders } from "../../shared/webhooks/signature.ts";

const event_id = "evt_01JD0000000000000000000001";
const body = Buffer.from(`{"id":"${event_id}","note":"Zoë, 東京, 😀","amount":"10.00"}`);
const secretOf = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString("base64")}`;
const [secret, previous, stranger] = [secretOf(251), secretOf(2), secretOf(3)];
const now = () => Math.floor(Date.now() / 1000);

interface Arrived {
  readonly body: Buffer;
  readonly headers: Record<string, string>;
}

type Judge = (arrived: Arrived, secret: string) => unknown;

/** Packages that integrators install, unchanged: each throws when it does not believe a call. */
const judges: Readonly<Record<string, Judge>> = {
  stripe: ({ body, headers }, key) => Stripe.webhooks.constructEvent(body, headers["X-Service-Signature"] ?? "", key),
  standardwebhooks: ({ body, headers }, key) => new StandardWebhook(key).verify(body, headers),
  svix: ({ body, headers }, key) => new SvixWebhook(key).verify(body, headers),
};

function sent(secrets: readonly string[], timestamp = now()): Arrived {
  return { body, headers: { ...signatureHeaders({ event_id, body, timestamp }, secrets) } };
}

describe.each(Object.entries(judges))("%s", (_, judge) => {
  it("refuses a call whose body was changed by one byte", () => {
    const { headers } = sent([secret]);
    const tampered = Buffer.from(body.toString().replace("10.00", "90.00"));
    expect(() => judge({ body: tampered, headers }, secret)).toThrow();
  });

  it("refuses a call that was signed with another key", () => {
    expect(() => judge(sent([stranger]), secret)).toThrow();
  });

  it("refuses a call that is 301 seconds old, and one whose time was made younger", () => {
    const old = sent([secret], now() - 301);
    expect(() => judge(old, secret)).toThrow();
    const fresh = String(now());
    const headers = Object.fromEntries(
      Object.entries(old.headers).map(([name, text]) => [name, text.replace(String(now() - 301), fresh)]),
    );
    expect(() => judge({ body, headers: { ...headers, "webhook-timestamp": fresh } }, secret)).toThrow();
  });

  it("believes a call that is a moment old", () => {
    expect(() => judge(sent([secret], now() - 290), secret)).not.toThrow();
  });

  it("believes a call while the secret is rotated, by the new and by the old one, and by no third", () => {
    const rotating = sent([secret, previous]);
    expect(() => judge(rotating, secret)).not.toThrow();
    expect(() => judge(rotating, previous)).not.toThrow();
    expect(() => judge(rotating, stranger)).toThrow();
    expect(() => judge(sent([secret]), previous)).toThrow();
  });

  it("gives back what was sent", () => {
    expect(judge(sent([secret]), secret)).toEqual(JSON.parse(body.toString()));
  });
});

describe("a signature", () => {
  it("is not made without a secret, or with one of another form", () => {
    for (const secrets of [[], ["whsec_c2hvcnQ="], [secret.slice(6)], [secret, ""]]) {
      expect(() => signatureHeaders({ event_id, body, timestamp: 1 }, secrets)).toThrow();
    }
  });

  it("is another one at another time, for another event and for another body", () => {
    const timestamp = 1_795_241_500;
    const all = [
      signatureHeaders({ event_id, body, timestamp }, [secret]),
      signatureHeaders({ event_id, body, timestamp: timestamp + 1 }, [secret]),
      signatureHeaders({ event_id: `${event_id}2`, body, timestamp }, [secret]),
      signatureHeaders({ event_id, body: body.subarray(1), timestamp }, [secret]),
    ];
    expect(new Set(all.map((headers) => headers["webhook-signature"])).size).toBe(4);
  });

  it("equals what the package of Standard Webhooks makes of the same call", () => {
    const timestamp = 1_614_265_330;
    const theirs = new StandardWebhook(secret).sign(event_id, new Date(timestamp * 1000), body.toString());
    expect(signatureHeaders({ event_id, body, timestamp }, [secret])["webhook-signature"]).toBe(theirs);
  });
});
