import { useState } from "react";
import { isOutdated } from "../api/problem.ts";
import { type Entered, type Field, FormDialog, type FormDialogProps, firstOf, sameEntry } from "./form-dialog.tsx";
import { inWords } from "./format.ts";
import { Pairs } from "./page.tsx";
import { Mark } from "./status.tsx";

/** A name and a text that a person goes by when they decide. */
type Fact = readonly [name: string, text: string];

interface EditProps<R>
  extends Pick<FormDialogProps<unknown>, "title" | "wide" | "danger" | "foot" | "more" | "onDone" | "onClose"> {
  /** The resource as it was shown when the dialog was opened. */
  readonly resource: R;
  readonly read: () => Promise<R>;
  readonly fieldsOf: (now: R) => readonly Field[];
  /** Facts of the decision, where the form decides about everything that is shown. */
  readonly factsOf?: (now: R) => readonly Fact[];
  /** The members of the request by what was entered; a member has the name of its field. */
  readonly bodyOf: (entered: Entered) => Readonly<Record<string, unknown>>;
  readonly send: (body: object, options: { readonly key: string; readonly version: number }) => Promise<unknown>;
  readonly submit?: string;
  /** All members are sent, as those of one decision; otherwise those alone whose field was changed. */
  readonly whole?: boolean;
}

/**
 * A change of a resource, for the version that was shown: what others change meanwhile is never written back. The
 * service refuses an older version (412); the dialog then shows what it was, what it is now, and what was entered, and
 * asks again. Where nothing that is shown differs, it sends the same for the new version.
 */
export function EditDialog<R extends { readonly version: number }>(props: EditProps<R>) {
  const {
    resource,
    read,
    fieldsOf,
    factsOf = () => [],
    bodyOf,
    send,
    submit = "Save",
    whole = false,
    ...dialog
  } = props;
  const [opened] = useState(resource);
  const [base, setBase] = useState(resource);
  const differs = (one: R, other: R) =>
    fieldsOf(one).some((field, place) => !sameEntry(firstOf(field), firstOf(fieldsOf(other)[place] ?? field))) ||
    JSON.stringify(factsOf(one)) !== JSON.stringify(factsOf(other));
  const run = async (entered: Entered, key: string, changed: readonly string[]) => {
    const all = Object.entries(bodyOf(entered));
    const body = Object.fromEntries(all.filter(([name]) => whole || changed.includes(name)));
    let now = base;
    for (;;) {
      try {
        return await send(body, { key, version: now.version });
      } catch (error) {
        if (!isOutdated(error)) throw error;
        const before = now;
        now = await read();
        if (now.version === before.version || differs(now, base)) {
          setBase(now);
          throw error;
        }
      }
    }
  };
  const was = fieldsOf(opened);
  const fields = fieldsOf(base).map((field, place): Field => {
    const [before, now] = [firstOf(was[place] ?? field), firstOf(field)];
    if (sameEntry(before, now)) return field;
    return { ...field, note: { text: `It was ${wordsOf(before)}, and is ${wordsOf(now)} now.`, now } };
  });
  const facts = factsOf(base).map(([name, text], place): Fact => {
    const before = factsOf(opened)[place]?.[1] ?? text;
    return [name, before === text ? text : `${text} (was ${before} when you opened this)`];
  });
  return (
    <FormDialog
      {...dialog}
      submit={submit}
      needsChange={!whole}
      version={base.version}
      fields={fields}
      intro={facts.length > 0 && <Pairs pairs={facts} />}
      errorText={(error) => (isOutdated(error) ? <Outdated /> : undefined)}
      run={run}
    />
  );
}

function Outdated() {
  return (
    <div className="notice warning" role="alert">
      <Mark shape="triangle" tone="warn" />
      <p>
        <strong>Somebody else has changed this since you opened it.</strong> Nothing was saved. What differs is marked:
        look at it, then send again what you want.
      </p>
    </div>
  );
}

function wordsOf(value: string | readonly string[]): string {
  const text = typeof value === "string" ? value : value.join(", ");
  return text === "" ? "empty" : `“${typeof value === "string" ? inWords(text) : text}”`;
}
