/** A field of a form. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: "email" | "password" | "text";
  /** Value that a browser or a password manager may fill in. */
  readonly autocomplete: string;
  readonly value?: string;
}

/** A page with a form; `hints` are shown above its fields. */
export interface FormPage {
  readonly title: string;
  readonly hints?: readonly string[];
  readonly error?: string | undefined;
  readonly fields: readonly Field[];
  readonly button: string;
}

const style = `
  :root { color-scheme: light dark; font: 100%/1.5 system-ui, sans-serif }
  main { max-width: 22rem; margin: 10vh auto; padding: 0 1rem }
  label { display: block; margin-top: 1rem }
  input, button { box-sizing: border-box; width: 100%; padding: .5rem; font: inherit }
  button { margin-top: 1.5rem }
  code { overflow-wrap: anywhere }
  [role=alert] { border-left: .25rem solid; padding-left: .75rem }`;

/** The page as HTML; it needs no script. The form is posted to its own address. */
export function formPage({ title, hints = [], error, fields, button }: FormPage): string {
  const inputs = fields.map(({ name, label, type, autocomplete, value = "" }, at) => {
    const numeric = autocomplete === "one-time-code" ? ' inputmode="numeric" pattern="[0-9]{6}" maxlength="6"' : "";
    const focus = at === 0 ? " autofocus" : "";
    const attributes = `id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}" required`;
    const field = `<input ${attributes}${numeric}${focus} value="${escaped(value)}">`;
    return `<label for="${name}">${escaped(label)}</label>${field}`;
  });
  return textPage(title, [
    ...(error === undefined ? [] : [`<p role="alert">${escaped(error)}</p>`]),
    ...hints.map((hint) => `<p>${hint}</p>`),
    `<form method="post">${inputs.join("")}<button type="submit">${escaped(button)}</button></form>`,
  ]);
}

/** A page of paragraphs, which are HTML. */
export function textPage(title: string, parts: readonly string[]): string {
  const viewport = '<meta name="viewport" content="width=device-width">';
  const head = `<meta charset="utf-8">${viewport}<title>${escaped(title)}</title>`;
  const body = `<main><h1>${escaped(title)}</h1>${parts.join("\n")}</main>`;
  return `<!doctype html><html lang="en"><head>${head}<style>${style}</style></head><body>${body}</body></html>\n`;
}

/** Text as it may stand in HTML, in attributes as well. */
export function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = { "&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "#39" };
  return text.replace(/[&<>"']/g, (letter) => `&${names[letter] ?? ""};`);
}
