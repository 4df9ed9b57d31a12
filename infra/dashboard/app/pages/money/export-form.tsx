import { useState } from "react";
import { daysAfter } from "../../../../../shared/calendar.ts";
import { command } from "../../api/client.ts";
import type { Schemas } from "../../api/types.ts";
import type { Search } from "../../parts/address.ts";
import { type Entered, type Field, FormDialog, textOf } from "../../parts/form-dialog.tsx";
import { inWords, today } from "../../parts/format.ts";
import { Select } from "../../parts/select.tsx";
import { type ExportName, exportShapes, exportTypes, isExport } from "./export-shapes.ts";

/** Parameters of a job from what was entered: a last day ends at the midnight after it, UTC. */
function parametersOf(type: ExportName, entered: Entered): Record<string, unknown> {
  const { days: [from, to] = [], filters, names } = exportShapes[type];
  const [first, last] = [textOf(entered, "first_day"), textOf(entered, "last_day")];
  return {
    ...(first && from && { [from]: `${first}T00:00:00Z` }),
    ...(last && to && { [to]: `${daysAfter(last, 1)}T00:00:00Z` }),
    ...Object.fromEntries(filters.flatMap((name) => (textOf(entered, name) ? [[name, textOf(entered, name)]] : []))),
    ...(type !== "events" && { format: textOf(entered, "format") ?? "csv" }),
    ...(names && entered["include_names"] === "yes" && { include_names: true }),
  };
}

function fieldsOf(type: ExportName, search: Search): Field[] {
  const { days: [from, to] = [], filters, names } = exportShapes[type];
  const yesterday = daysAfter(today(), -1);
  const needed = to === "to" || to === "at";
  const lastDay = to === "at" ? "At the end of day (UTC)" : "To day (UTC)";
  const day = (name: string, label: string, more: Partial<Field>): Field => ({ name, label, kind: "date", ...more });
  return [
    ...(from ? [day("first_day", "From day (UTC)", { optional: true })] : []),
    ...(to ? [day("last_day", lastDay, needed ? { first: yesterday } : { optional: true })] : []),
    ...filters.map((name) => ({ name, label: inWords(name), first: search[name] ?? "", optional: true })),
    ...(type === "events"
      ? []
      : [{ name: "format", label: "Form", kind: "choice", values: ["csv", "ndjson"], first: "csv" } as const]),
    ...(names
      ? [{ name: "include_names", label: "With account numbers and client names", kind: "tick" } as const]
      : []),
  ];
}

interface NewExportProps {
  readonly type?: string | undefined;
  readonly filters: Search;
  readonly onDone: (job: Schemas["Job"]) => void;
  readonly onClose: () => void;
}

/** The form of an export: its type first, then what its rows are chosen by. */
export function NewExport({ type: asked, filters, onDone, onClose }: NewExportProps) {
  const [type, setType] = useState<ExportName>(isExport(asked) ? asked : "transactions");
  return (
    <FormDialog<Schemas["Job"]>
      key={type}
      title="New export"
      fields={fieldsOf(type, type === asked ? filters : {})}
      submit={`Export ${inWords(type).toLowerCase()}`}
      foot="It begins within two minutes and goes on without this page."
      intro={<Select label="Rows" value={type} values={exportTypes} onChange={setType} />}
      run={(entered, key) => command("POST", "/jobs", { key, body: { type, parameters: parametersOf(type, entered) } })}
      onDone={onDone}
      onClose={onClose}
    />
  );
}
