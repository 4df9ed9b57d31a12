import { Button } from "@mantine/core";
import { useState } from "react";
import { saveFile } from "./save-file.ts";

/** A name of a file, and what reads its content. */
interface SaveProps {
  readonly name: string;
  readonly read: () => Promise<string>;
  readonly disabled?: boolean;
}

/** A button that saves what the service answers as CSV; while it was not answered, or was refused, it says so. */
export function SaveCsv({ name, read, disabled = false }: SaveProps) {
  const [state, setState] = useState<"asked" | "failed">();
  const save = async () => {
    setState("asked");
    try {
      saveFile(name, "text/csv", await read());
      setState(undefined);
    } catch {
      setState("failed");
    }
  };
  return (
    <>
      {state === "failed" && <span role="alert">The file could not be read.</span>}
      <Button variant="default" disabled={disabled || state === "asked"} onClick={() => void save()}>
        Save as CSV
      </Button>
    </>
  );
}
