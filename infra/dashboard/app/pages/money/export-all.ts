import { addressWith, useAddress } from "../../parts/address.ts";
import { useMay } from "../../session/caller.ts";
import { type ExportName, exportFilters } from "./export-shapes.ts";

/** Address of the form that exports all of a list with its filters; undefined for who may not export. */
export function useExportAll(type: ExportName): string | undefined {
  const may = useMay();
  const [search] = useAddress();
  return may("reports:write") ? addressWith("/exports", { ...exportFilters(type, search), new: type }) : undefined;
}
