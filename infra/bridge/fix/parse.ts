/** A field of a message. Its value has one character for each byte, so that lengths and sums are those of the bytes. */
export type Field = readonly [tag: number, value: string];

/** Ends every field. */
const soh = "\u0001";
const begin = "8=FIX";
/** A message longer than this is garbled, and so is one whose BodyLength is not within the first bytes. */
const mostBytes = 1024 * 1024;
const mostHeadBytes = 48;
const trailerBytes = 7;

/** Tags whose value is the length of the field after them, which may hold any byte, by that field. */
const lengthOf: Readonly<Record<number, number>> = {
  ...{ 89: 93, 91: 90, 96: 95, 213: 212, 349: 348, 351: 350, 353: 352, 355: 354, 357: 356, 359: 358, 361: 360 },
  ...{ 363: 362, 365: 364, 446: 445, 619: 618, 622: 621 },
};

/** Fields in the order of the message. */
export class FixFields {
  readonly fields: readonly Field[];

  constructor(fields: readonly Field[]) {
    this.fields = fields;
  }

  /** The first value of a tag; undefined when there is none, or it is empty. */
  get(tag: number): string | undefined {
    return this.fields.find(([name]) => name === tag)?.[1] || undefined;
  }

  /** The first of some tags that is there more than once. */
  repeated(tags: readonly number[]): number | undefined {
    return tags.find((tag) => this.fields.filter(([name]) => name === tag).length > 1);
  }

  /** The entries of the group that a tag counts: each begins with the tag that comes first after the count. */
  entries(count: number): readonly FixFields[] {
    const after = this.fields.slice(this.place(count) + 1);
    const first = after[0]?.[0];
    const starts = after.flatMap(([tag], place) => (tag === first ? [place] : []));
    return starts.map((start, place) => new FixFields(after.slice(start, starts[place + 1])));
  }

  /** The fields before the group that a tag counts. */
  before(count: number): FixFields {
    return new FixFields(this.fields.slice(0, this.place(count)));
  }

  private place(tag: number): number {
    const place = this.fields.findIndex(([name]) => name === tag);
    return place === -1 ? this.fields.length : place;
  }
}

/** A message whose BodyLength and CheckSum are right; the fields are those between the two. */
export class FixMessage extends FixFields {
  readonly beginString: string;
  /** MsgType (35). */
  readonly type: string;

  constructor(beginString: string, fields: readonly Field[]) {
    super(fields);
    this.beginString = beginString;
    this.type = this.get(35) ?? "";
  }
}

/** Why bytes are no message: they are ignored, and the gap that they leave is asked for again. */
export class Garbled {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/** Cuts a stream of bytes into messages. After a garbled one it goes on where the next begins. */
export class Framer {
  private rest = "";

  /** The messages that are complete after more bytes have come. */
  push(bytes: Buffer): (FixMessage | Garbled)[] {
    this.rest += bytes.toString("latin1");
    const found: (FixMessage | Garbled)[] = [];
    for (let next = this.nextMessage(); next !== undefined; next = this.nextMessage()) found.push(next);
    return found;
  }

  private nextMessage(): FixMessage | Garbled | undefined {
    this.skip();
    const { rest } = this;
    const head = rest.indexOf(soh, rest.indexOf(soh) + 1);
    if (head === -1 && rest.length <= mostHeadBytes) return undefined;
    const [beginString = "", length = ""] = rest.slice(0, Math.max(0, head)).split(soh);
    const size = /^9=(\d{1,9})$/.exec(length)?.[1];
    if (head > mostHeadBytes || size === undefined || Number(size) > mostBytes) return this.garbled("BodyLength (9)");
    const end = head + 1 + Number(size);
    if (rest.length < end + trailerBytes) {
      // A length that reaches over the next message would hide it.
      return rest.includes(soh + begin, head) ? this.garbled("BodyLength (9)") : undefined;
    }
    const trailer = rest.slice(end, end + trailerBytes);
    if (rest[end - 1] !== soh || !/^10=\d{3}$/.test(trailer.slice(0, -1)) || !trailer.endsWith(soh)) {
      return this.garbled("BodyLength (9)");
    }
    if (trailer.slice(3, -1) !== checkSum(rest.slice(0, end))) return this.garbled("CheckSum (10)");
    const fields = fieldsOf(rest.slice(head + 1, end));
    if (fields?.[0]?.[0] !== 35) return this.garbled("order or form of its fields");
    this.rest = rest.slice(end + trailerBytes);
    return new FixMessage(beginString.slice(2), fields);
  }

  /** Drops what is before the beginning of a message; a beginning that may not be complete stays. */
  private skip(): void {
    const { rest } = this;
    if (rest.startsWith(begin) || begin.startsWith(rest)) return;
    const place = rest.indexOf(soh + begin);
    this.rest = place === -1 ? rest.slice(-begin.length) : rest.slice(place + 1);
  }

  private garbled(reason: string): Garbled {
    // Without its first byte it is no beginning of a message any more.
    this.rest = this.rest.slice(1);
    return new Garbled(reason);
  }
}

/** The fields of a body; undefined when it is none. */
function fieldsOf(body: string): Field[] | undefined {
  const fields: Field[] = [];
  let length: Field | undefined;
  for (let place = 0; place < body.length; ) {
    const equals = body.indexOf("=", place);
    const tag = body.slice(place, Math.max(place, equals));
    if (!/^[1-9]\d{0,8}$/.test(tag)) return undefined;
    const isData = length !== undefined && lengthOf[Number(tag)] === length[0];
    const end = isData ? equals + 1 + Number(length?.[1]) : body.indexOf(soh, equals);
    if (body[end] !== soh) return undefined;
    length = [Number(tag), body.slice(equals + 1, end)];
    fields.push(length);
    place = end + 1;
  }
  return fields;
}

function checkSum(text: string): string {
  let sum = 0;
  for (let place = 0; place < text.length; place += 1) sum += text.charCodeAt(place);
  return String(sum % 256).padStart(3, "0");
}

/** The bytes of a message, of which the fields begin with MsgType; one character for each byte. */
export function encode(beginString: string, fields: readonly Field[]): string {
  // A control character would end a field, and what is beyond Latin-1 is more than a byte.
  const body = fields.map(([tag, value]) => `${tag}=${value.replace(/[^ -ÿ]/g, "?")}${soh}`).join("");
  const text = `8=${beginString}${soh}9=${body.length}${soh}${body}`;
  return `${text}10=${checkSum(text)}${soh}`;
}

const timestamp = /^(\d{4})(\d\d)(\d\d)-(\d\d:\d\d:\d\d)(?:(\.\d{1,9})\d*)?$/;

/** A UTCTimestamp of FIX as RFC 3339, with at most nine digits of a second; undefined when it is none. */
export function timeIn(stamp: string): string | undefined {
  const [, year, month, day, time, fraction = ""] = timestamp.exec(stamp) ?? [];
  const text = `${year}-${month}-${day}T${time}${fraction}Z`;
  return time === undefined || Number.isNaN(Date.parse(text.replace(/:60(?=[.Z])/, ":59"))) ? undefined : text;
}

/** A time as a UTCTimestamp of FIX. */
export function timestampOf(ms: number): string {
  return new Date(ms).toISOString().replaceAll("-", "").replace("T", "-").replace("Z", "");
}
