import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { FixVenue } from "../../infra/bridge/fix/fix-venue.ts";
import { readTls, type Tls } from "../../infra/bridge/fix/transport.ts";
import type { VenueEvent, VenueQuote } from "../../infra/bridge/venue.ts";
import { FixAcceptor, framed } from "../support/fix-acceptor.ts";
import { selfSigned } from "../support/stack/self-signed.ts";

const folder = mkdtempSync(join(tmpdir(), "brokerage-fix-venue-"));
const venues: FixVenue[] = [];
afterAll(async () => {
  for (const venue of venues) await venue.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The bridge's side of a session, and what it takes. */
function bridgeTo(port: number, tls?: Tls) {
  const names = { sender_comp_id: "BROKERAGE", target_comp_id: "VENUE", username: "me", password: "secret" };
  const settings = { ...names, host: "127.0.0.1", port, symbols: ["EURUSD"], ...(tls !== undefined && { tls }) };
  const [deals, failures, said, quotes]: [string[], string[], string[], VenueQuote[]] = [[], [], [], []];
  const venue = new FixVenue({
    ...{ settings, folder: join(folder, String(port)), say: (sentence) => said.push(sentence) },
    hook: () => Promise.reject(new Error("No money is moved here.")),
  });
  venues.push(venue);
  const sink = {
    record: (events: readonly VenueEvent[]) => {
      for (const event of events) if (event.kind === "fill") deals.push(`${event.fill.deal_id} ${event.fill.lots}`);
    },
    quote: (quote: VenueQuote) => quotes.push(quote),
    fail: (error: Error) => failures.push(error.message),
  };
  return { venue, deals, failures, said, quotes, start: () => venue.start(0, sink) };
}

const deal = (id: string, quantity = "1000") =>
  `37=O|17=${id}|150=F|39=2|1=5001|55=EURUSD|54=1|32=${quantity}|31=1.1|151=0|14=1|6=1.1`;
const e2 = deal("E2");

describe("a message that is not right", () => {
  it.each<[name: string, bytes: (seq: number) => string]>([
    ["a changed byte", (seq) => framed("8", seq, e2).replace("32=1000", "32=9000")],
    ["a BodyLength that is too long", (seq) => framed("8", seq, e2, { length: 40 })],
    ["a BodyLength that is too short", (seq) => framed("8", seq, e2, { length: -4 })],
    ["another sender", (seq) => framed("8", seq, e2, { sender: "OTHER" })],
    ["another target", (seq) => framed("8", seq, e2, { target: "OTHER" })],
    ["another version", (seq) => framed("8", seq, e2, { version: "FIX.4.2" })],
    ["a SendingTime of 2020", (seq) => framed("8", seq, e2, { sent: "20200101-00:00:00" })],
    ["a number of the header twice", (seq) => framed("8", seq, `${e2}|34=9`)],
    ["a low number", () => framed("8", 1, e2)],
    ["no number", () => framed("8", "", e2)],
    ["no bytes", () => ""],
  ])("with %s is not taken, and is asked for again", async (_, bytes) => {
    const acceptor = new FixAcceptor();
    const { start, deals, venue, failures } = bridgeTo(await acceptor.listen());
    await start();
    await expect.poll(() => acceptor.received.some(({ type }) => type === "V")).toBe(true);
    acceptor.send(["8", deal("E1")]);
    acceptor.sendBroken("8", e2, bytes);
    acceptor.send(["8", deal("E3")]);
    await expect.poll(() => deals.length, { timeout: 10_000 }).toBe(3);
    expect([deals, failures]).toEqual([["E1 1000.00", "E2 1000.00", "E3 1000.00"], []]);
    expect(acceptor.received.find(({ type }) => type === "2")?.get(7)).toBe("3");
    await venue.stop();
    acceptor.close();
  });

  it.each([
    ["a quantity twice", `${e2}|32=9000`, "32"],
    ["no side", e2.replace("|54=1", ""), "54"],
    ["no symbol", e2.replace("|55=EURUSD", ""), "55"],
  ])("is rejected with the tag, and ends the bridge, when it is a deal with %s", async (_, body, tag) => {
    const acceptor = new FixAcceptor();
    const { start, deals, venue, failures } = bridgeTo(await acceptor.listen());
    await start();
    await expect.poll(() => acceptor.received.some(({ type }) => type === "V")).toBe(true);
    acceptor.send(["8", deal("E1")], ["8", body], ["8", deal("E3")]);
    await expect.poll(() => acceptor.received.some(({ type }) => type === "5")).toBe(true);
    const rejected = acceptor.received.find(({ type }) => type === "3");
    expect([rejected?.get(45), rejected?.get(371)]).toEqual(["3", tag]);
    expect([deals, failures]).toEqual([["E1 1000.00"], [expect.stringContaining("Message 3 of the venue (35=8)")]]);
    await venue.stop();
    acceptor.close();
  });

  it("is rejected when its type is unknown or its prices cannot be read, and those after it are taken", async () => {
    const acceptor = new FixAcceptor();
    const { start, deals, venue, quotes } = bridgeTo(await acceptor.listen());
    await start();
    await expect.poll(() => acceptor.received.some(({ type }) => type === "V")).toBe(true);
    const full = "55=EURUSD|268=2|269=0|270=1.1|269=1|270=1.2";
    acceptor.send(["*", "58=?"], ["W", `${full}|270=1.3`], ["W", full], ["8", deal("E1")]);
    await expect.poll(() => deals).toEqual(["E1 1000.00"]);
    expect(quotes).toEqual([{ symbol: "EURUSD", bid: "1.1", ask: "1.2" }]);
    const rejected = () => acceptor.received.filter(({ type }) => type === "3").map((each) => each.get(373));
    await expect.poll(rejected).toEqual(["11", "13"]);
    await venue.stop();
    acceptor.close();
  });
});

describe("a venue over TLS", () => {
  const [server, client, other] = [selfSigned(), selfSigned(), selfSigned()];
  const venueOf = () =>
    new FixAcceptor(undefined, { ...server, ca: client.cert, requestCert: true, rejectUnauthorized: true });

  it("is connected with the files that the configuration names", async () => {
    for (const [name, text] of Object.entries({
      "ca.pem": server.cert,
      "key.pem": client.key,
      "cert.pem": client.cert,
    })) {
      writeFileSync(join(folder, name), text);
    }
    const tls = readTls({ ca: ["ca.pem"], key: "key.pem", cert: "cert.pem" }, folder);
    const acceptor = venueOf();
    const { start, deals, venue } = bridgeTo(await acceptor.listen(), tls);
    await start();
    await expect.poll(() => acceptor.received.some(({ type }) => type === "V")).toBe(true);
    acceptor.send(["8", deal("E1")]);
    await expect.poll(() => deals).toEqual(["E1 1000.00"]);
    expect(acceptor.received[0]?.get(554)).toBe("secret");
    await venue.stop();
    acceptor.close();
  });

  it.each([
    ["whose authority is not that of the configuration", { ca: [other.cert], key: client.key, cert: client.cert }],
    ["whose authority is unknown", { key: client.key, cert: client.cert }],
    ["that does not know the certificate of the bridge", { ca: [server.cert], key: other.key, cert: other.cert }],
    ["that gets no certificate of the bridge", { ca: [server.cert] }],
  ])("%s gets no password", async (_, tls) => {
    const acceptor = venueOf();
    const { start, said, venue } = bridgeTo(await acceptor.listen(), tls);
    await start();
    await expect.poll(() => said.length, { timeout: 10_000 }).toBeGreaterThan(0);
    expect(said[0]).toMatch(/^No session with the venue at /);
    expect(acceptor.received).toEqual([]);
    await venue.stop();
    acceptor.close();
  });

  it.each([
    [{ ca: ["none.pem"] }, "fix.tls.ca names none.pem, which cannot be read"],
    [{ key: "bad.pem", cert: "bad.pem" }, "The files of fix.tls cannot be used"],
  ])("is refused at the start with files that cannot be used: %#", (paths, sentence) => {
    writeFileSync(join(folder, "bad.pem"), "no certificate");
    expect(() => readTls(paths, folder)).toThrow(sentence);
  });
});
