import { addressWith, useAddress } from "../../parts/address.ts";
import { useMay } from "../../session/caller.ts";
import { type ExportName, exportShapes } from "./export-shapes.ts";

/** Address of the form that exports all of a list with its filters; undefined for who may not export. */
export function useExportAll(type: ExportName): string | undefined {
  const may = useMay();
  const [search] = useAddress();
  if (!may("reports:write")) return undefined;
  // Filters of exports have the same names: those of the list are in a parameter of their own.
  const filters = Object.fromEntries(exportShapes[type].filters.map((name) => [name, search[name]]));
  return addressWith("/exports", { new: type, with: addressWith("", filters).slice(1) });
}
