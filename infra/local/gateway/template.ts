import { type ContextValues, isContextVariable } from "./context.ts";
import type { HeaderList, Reply } from "./exchange.ts";
import { mediaType } from "./exchange.ts";
import type { Properties } from "./properties.ts";

/** A body with variables; gives the text for one request. */
type Render = (context: ContextValues) => string;

/** An answer that is described in the template: by a gateway response or by the response of a MOCK integration. */
export interface AnswerModel {
  readonly headers: readonly { readonly name: string; readonly value: (context: ContextValues) => string | null }[];
  /** By media type, in the order of the template. */
  readonly templates: readonly { readonly media_type: string; readonly render: Render }[];
}

const variable = /\$context\.([A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)*)/g;

/**
 * Turns a body template into a function. Only `$context` variables are understood. `velocity` templates (integration
 * responses) must hold no directive either; the templates of gateway responses are no Velocity, there `#` is text.
 * Throws what `refuse` makes of anything else.
 */
export function compileTemplate(text: string, dialect: "velocity" | "plain", refuse: (why: string) => Error): Render {
  const pieces: { text: string; name?: string }[] = [];
  let end = 0;
  for (const match of text.matchAll(variable)) {
    const name = match[1] ?? "";
    if (!isContextVariable(name)) throw refuse(`uses $context.${name}, which the local gateway does not know`);
    pieces.push({ text: text.slice(end, match.index), name });
    end = match.index + match[0].length;
  }
  pieces.push({ text: text.slice(end) });
  const foreign = dialect === "velocity" ? /\$[A-Za-z!{]|#[A-Za-z#*@{[]|\\[$#]/ : /\$[A-Za-z!{]/;
  for (const piece of pieces) {
    const found = foreign.exec(piece.text);
    if (found === null) continue;
    const near = piece.text.slice(found.index, found.index + 20);
    throw refuse(`holds "${near}": the local gateway replaces $context variables only`);
  }
  return (context) => {
    return pieces.map(({ text, name }) => (name === undefined ? text : text + (context(name) ?? ""))).join("");
  };
}

/** Turns a header mapping into a function: `'fixed text'` or one `context.…` value. */
function compileValue(expression: string, refuse: (why: string) => Error): (context: ContextValues) => string | null {
  const fixed = /^'(.*)'$/s.exec(expression)?.[1];
  if (fixed !== undefined) return () => fixed;
  const name = /^context\.(.+)$/.exec(expression)?.[1];
  if (name !== undefined && isContextVariable(name)) return (context) => context(name);
  throw refuse(`(${expression}) is not implemented by the local gateway: only 'fixed text' or a context value`);
}

/**
 * Reads `ResponseParameters` (each name must begin with the prefix) and `ResponseTemplates`, so that what cannot be
 * filled in is refused at start.
 */
export function readAnswer(properties: Properties, prefix: string, dialect: "velocity" | "plain"): AnswerModel {
  const headers = properties.textMap("ResponseParameters").map(([key, expression]) => {
    const where = `ResponseParameters.${key}`;
    if (!key.startsWith(prefix)) throw properties.error(where, "is not implemented by the local gateway");
    const value = compileValue(expression, (why) => properties.error(where, why));
    return { name: key.slice(prefix.length), value };
  });
  const templates = properties.textMap("ResponseTemplates").map(([type, text]) => {
    const refuse = (why: string) => properties.error(`ResponseTemplates.${type}`, why);
    return { media_type: mediaType(type), render: compileTemplate(text, dialect, refuse) };
  });
  return { headers, templates };
}

/**
 * Fills an answer in. The template is the one that the caller accepts, else the one for JSON, else the first; its type
 * is the Content-Type unless a header mapping says otherwise.
 */
export function renderAnswer(answer: AnswerModel, status: number, context: ContextValues, accept: string): Reply {
  const { templates } = answer;
  const template =
    templates.find(({ media_type }) => media_type === accept) ??
    templates.find(({ media_type }) => media_type === "application/json") ??
    templates[0];
  const headers: HeaderList = answer.headers.flatMap(({ name, value }) => {
    const text = value(context);
    return text === null ? [] : [[name, text] as const];
  });
  const typed = headers.some(([name]) => name.toLowerCase() === "content-type");
  const type = template?.media_type ?? "application/json";
  return {
    status,
    headers: typed ? headers : [["Content-Type", type], ...headers],
    body: Buffer.from(template?.render(context) ?? ""),
  };
}
