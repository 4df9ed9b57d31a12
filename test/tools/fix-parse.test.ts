import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FixMessage, Framer, Garbled } from "../../infra/bridge/fix/parse.ts";
import { bytesOf, venue } from "../support/fix-bytes.ts";

const soh = "\u0001";

describe("a stream of bytes", () => {
  const texts = [bytesOf(venue("8", { seq: 1, more: "58=a=b" })), bytesOf(venue("0", { seq: 2 }))];
  const typesOf = (found: readonly (FixMessage | Garbled)[]) =>
    found.map((each) => (each instanceof Garbled ? "garbled" : each.type));

  it("is cut into the same messages wherever the packets end", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: texts.join("").length })), (cuts) => {
        const all = Buffer.from(`noise${soh}${texts.join("")}`, "latin1");
        const framer = new Framer();
        const places = [0, ...cuts.toSorted((a, b) => a - b), all.length];
        const found = places.flatMap((place, at) => framer.push(all.subarray(place, places[at + 1] ?? all.length)));
        expect(typesOf(found)).toEqual(["8", "0"]);
      }),
    );
  });

  it.each([
    ["a changed byte", texts[0]?.replace("34=1", "34=7")],
    ["a BodyLength that is too long", bytesOf(venue("8", { seq: 1 }), { length: 9 })],
    ["a BodyLength that reaches over the next message", bytesOf(venue("8", { seq: 1 }), { length: 5000 })],
    ["a BodyLength that is too short", bytesOf(venue("8", { seq: 1 }), { length: -9 })],
    ["a BodyLength that is no number", texts[0]?.replace(`${soh}9=`, `${soh}9=x`)],
    ["a wrong CheckSum", bytesOf(venue("8", { seq: 1 }), { sum: 1 })],
    ["a MsgType that is not the third field", bytesOf(`49=VENUE|${venue("8", { seq: 1 })}`)],
    ["a field without a tag", bytesOf(`${venue("8", { seq: 1 })}|x`)],
  ])("goes on after a message with %s", (_, garbled = "") => {
    expect(typesOf(new Framer().push(Buffer.from(garbled + texts.join(""), "latin1")))).toEqual(["garbled", "8", "0"]);
  });

  it("never has a message with a changed byte, and has the one after it", () => {
    const text = bytesOf(venue("8", { seq: 1, more: "32=1000" }));
    fc.assert(
      fc.property(fc.nat(text.length - 2), fc.integer({ min: 1, max: 255 }), (place, byte) => {
        const bytes = Buffer.from(text + (texts[1] ?? ""), "latin1");
        bytes[place] = byte;
        const found = typesOf(new Framer().push(bytes)).filter((type) => type !== "garbled");
        expect(found).toEqual(text.charCodeAt(place) === byte ? ["8", "0"] : ["0"]);
      }),
    );
  });

  it("has data that holds the end of a field", () => {
    const [message] = new Framer().push(Buffer.from(bytesOf(`35=8|354=8|355=a|32=9|1|34=1`), "latin1"));
    expect(message).toMatchObject({ type: "8" });
    expect((message as FixMessage).get(32)).toBeUndefined();
    expect((message as FixMessage).get(34)).toBe("1");
  });
});
