import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HttpProblem } from "../../shared/http/problem.ts";
import { scanJson } from "../../shared/http/strict-json.ts";
import { limits } from "../../shared/limits.ts";

/** The code that a text is refused with, or "accepted". */
function verdict(text: string): string {
  try {
    scanJson(text);
    return "accepted";
  } catch (error) {
    if (error instanceof HttpProblem) return error.code;
    throw error;
  }
}

/** A JSON text of so many levels, the outermost an object. */
function nested(levels: number, open: string, close: string): string {
  return `{"a":${open.repeat(levels - 1)}1${close.repeat(levels - 1)}}`;
}

const backslash = "\\";
const escaped = (text: string) =>
  [...text].map((each) => `${backslash}u${each.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

const name = fc.string({ unit: "grapheme", maxLength: 8 }).filter((text) => text !== "__proto__");
const json = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  object: fc.dictionary(name, tie("value"), { maxKeys: 5 }),
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(null, true, false),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: "grapheme" }),
    fc.array(tie("value"), { maxLength: 4 }),
    tie("object"),
  ),
})).object;

describe("the strict reader", () => {
  it("takes what JSON.stringify writes of any object, compact or spread out", () => {
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 1, "\t"), (value, space) => {
        const text = JSON.stringify(value, null, space);
        expect(verdict(text)).toBe("accepted");
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("never takes what JSON.parse refuses, whatever single character is changed", () => {
    const character = fc.constantFrom(...'{}[]",:0123456789.eE+-tfnul\\/ \n\u0000\u00a0');
    fc.assert(
      fc.property(json, fc.nat(), character, (value, place, put) => {
        const text = JSON.stringify(value);
        const at = place % text.length;
        const changed = text.slice(0, at) + put + text.slice(at + 1);
        let parses = true;
        try {
          JSON.parse(changed);
        } catch {
          parses = false;
        }
        // A second member of one name may come before what is broken, and is reported then.
        if (!parses) expect(["malformed_json", "duplicate_key"]).toContain(verdict(changed));
      }),
      { numRuns: 500 },
    );
  });

  it("refuses a second member of one name wherever it is and however either is written", () => {
    fc.assert(
      fc.property(name, fc.boolean(), fc.boolean(), (given, first, second) => {
        const write = (encoded: boolean) => (encoded ? `"${escapedUnits(given)}"` : JSON.stringify(given));
        const pair = `{${write(first)}:1,"between":2,${write(second)}:3}`;
        fc.pre(given !== "between");
        for (const text of [pair, `{"a":${pair}}`, `{"a":[[],${pair}]}`]) expect(verdict(text)).toBe("duplicate_key");
      }),
    );
  });

  it("takes the same name twice in two objects", () => {
    expect(verdict('{"a":{"b":1},"b":{"b":1},"c":[{"b":1},{"b":1}]}')).toBe("accepted");
  });

  it.each([
    ["plain", '{"__proto__":1}'],
    ["one letter escaped", `{"__prot${escaped("o")}__":1}`],
    ["all escaped", `{"${escaped("__proto__")}":1}`],
    ["deep inside", `{"a":[{"b":{"${escaped("_")}_proto__":{}}}]}`],
  ])("refuses the member __proto__: %s", (_, text) => {
    expect(verdict(text)).toBe("malformed_json");
  });

  it("takes other names of the prototype, which are plain members", () => {
    expect(verdict('{"constructor":1,"prototype":2,"toString":3,"__proto":4}')).toBe("accepted");
  });

  it.each([
    ["objects", '{"a":', "}"],
    ["arrays", "[", "]"],
  ])("takes %i levels of %s and not one more", (_, open, close) => {
    const most = limits.body.max_depth;
    expect(most).toBe(32);
    expect(verdict(nested(most, open, close))).toBe("accepted");
    expect(verdict(nested(most + 1, open, close))).toBe("malformed_json");
    expect(verdict(nested(10_000, open, close))).toBe("malformed_json");
  });

  it.each([
    ["nothing", ""],
    ["blanks", " \n"],
    ["an array", "[]"],
    ["a number", "1"],
    ["a string", '"a"'],
    ["null", "null"],
    ["a byte order mark", "\ufeff{}"],
    ["text after the end", "{} {}"],
    ["a comma after the end", "{},"],
    ["a null character after the end", "{}\u0000"],
    ["a leading zero", '{"a":01}'],
    ["a leading zero after a sign", '{"a":-01}'],
    ["a plus", '{"a":+1}'],
    ["a point without digits before", '{"a":.5}'],
    ["a point without digits after", '{"a":5.}'],
    ["an exponent without digits", '{"a":5e}'],
    ["a sign alone", '{"a":-}'],
    ["a hexadecimal number", '{"a":0x1}'],
    ["digits in groups", '{"a":1_000}'],
    ["NaN", '{"a":NaN}'],
    ["Infinity", '{"a":Infinity}'],
    ["a negative Infinity", '{"a":-Infinity}'],
    ["undefined", '{"a":undefined}'],
    ["a word in capitals", '{"a":True}'],
    ["a word with more behind it", '{"a":nullx}'],
    ["a line comment", '{"a":1}// no'],
    ["a block comment", '{/* no */"a":1}'],
    ["single quotes", "{'a':1}"],
    ["a name without quotes", "{a:1}"],
    ["a trailing comma in an object", '{"a":1,}'],
    ["a trailing comma in an array", '{"a":[1,]}'],
    ["a missing comma", '{"a":1 "b":2}'],
    ["a missing colon", '{"a" 1}'],
    ["a missing value", '{"a":}'],
    ["a leading comma", '{,"a":1}'],
    ["the wrong bracket", '{"a":[1}'],
    ["an open object", '{"a":1'],
    ["an open string", '{"a":"b'],
    ["a raw line break in a string", '{"a":"b\n"}'],
    ["a raw tabulator in a string", '{"a":"b\t"}'],
    ["a raw null in a name", '{"a\u0000":1}'],
    ["an unknown escape", '{"a":"\\x41"}'],
    ["an escaped quote at the end", '{"a":"b\\"}'],
    ["a short unicode escape", '{"a":"\\u12"}'],
    ["half a surrogate pair, escaped", '{"a":"\\ud83d"}'],
    ["the other half, escaped", '{"a":"\\ude00"}'],
    ["two halves in the wrong order", '{"a":"\\ude00\\ud83d"}'],
    ["half a surrogate pair in a name", '{"\\ud83d":1}'],
    ["half a surrogate pair, raw", '{"a":"\ud83d"}'],
    ["a no-break space between", '{\u00a0"a":1}'],
    ["a vertical tabulator between", '{\u000b"a":1}'],
  ])("refuses %s", (_, text) => {
    expect(verdict(text)).toBe("malformed_json");
  });

  it("takes a whole surrogate pair, raw or escaped, and control characters above 7f, which JSON allows", () => {
    expect(verdict('{"a":"\\ud83d\\ude00","b":"\u{1f600}","c":"\u007f\u0085"}')).toBe("accepted");
  });

  it.each([
    ["an open string", `{"a":"${"x".repeat(250_000)}`],
    ["a long string that ends in a bad escape", `{"a":"${"\\u0041".repeat(40_000)}\\x"}`],
    ["members without an end", `{${'"a":1,'.repeat(1)}${Array.from({ length: 30_000 }, (_, i) => `"k${i}":1`).join()}`],
    ["a number without an end", `{"a":${"1".repeat(250_000)}`],
  ])("is done with %s of the largest size in time linear to it", (_, text) => {
    // Time of the processor: a machine that is busy with something else does not count.
    const started = process.cpuUsage();
    expect(verdict(text)).toBe("malformed_json");
    const { user, system } = process.cpuUsage(started);
    expect((user + system) / 1000).toBeLessThan(1000);
  });

  it("names the position of the fault, and repeats nothing of the text", () => {
    const secret = "s3cret-value";
    try {
      scanJson(`{"a":"${secret}","a":2}`);
      expect.unreachable();
    } catch (error) {
      const { message, details } = error as HttpProblem;
      expect(details.errors).toEqual([{ pointer: "#/a", code: "duplicate_key", detail: "is given twice" }]);
      expect(JSON.stringify([message, details])).not.toContain(secret);
    }
    expect(() => scanJson('{"a":tru}')).toThrow(/character 5:/);
  });
});

/** Every UTF-16 unit of a text as an escape. */
function escapedUnits(text: string): string {
  return Array.from({ length: text.length }, (_, at) => escaped(text.charAt(at))).join("");
}

describe("the source text of numbers", () => {
  it("is kept for the members of the body, and for them alone", () => {
    const numbers = scanJson(
      '{ "amount" : 90071992547409.93, "fee":1.10,"e":1E3 , "s":"5", "in":{"amount":7}, "list":[8], "zero":-0 }',
    );
    expect(Object.fromEntries(numbers)).toEqual({ amount: "90071992547409.93", fee: "1.10", e: "1E3", zero: "-0" });
  });

  it("is kept when the name is written with escapes", () => {
    expect(scanJson(`{"${escaped("amount")}":1.50}`).get("amount")).toBe("1.50");
  });

  it("is what was written, for any number", () => {
    const digits = fc.stringMatching(/^(?:0|[1-9]\d{0,20})(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?$/);
    fc.assert(
      fc.property(digits, (text) => {
        expect(scanJson(`{"a":${text}}`).get("a")).toBe(text);
      }),
    );
  });
});
