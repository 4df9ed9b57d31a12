const soh = "\u0001";

/** Bytes of a message, written apart from the encoder of the bridge; `body` has bars for the ends of fields. */
export function bytesOf(body: string, { version = "FIX.4.4", length = 0, sum = 0 } = {}): string {
  const fields = `${body}|`.replaceAll("|", soh);
  const text = `8=${version}${soh}9=${fields.length + length}${soh}${fields}`;
  const total = [...text].reduce((all, char) => all + char.charCodeAt(0), sum) % 256;
  return `${text}10=${String(total).padStart(3, "0")}${soh}`;
}

/** Header of a message of the venue. */
export interface Header {
  readonly seq: number | string;
  readonly more?: string;
  readonly sender?: string;
  readonly target?: string;
  readonly sent?: string;
}

/** SendingTime of the messages. */
export const stamp = "20261120-09:00:00";
/** A message of the venue, with bars for the ends of fields. */
export const venue = (type: string, { seq, more = "", sender = "VENUE", target = "BROKERAGE", sent = stamp }: Header) =>
  `35=${type}|49=${sender}|56=${target}|34=${seq}|52=${sent}${more === "" ? "" : `|${more}`}`;
