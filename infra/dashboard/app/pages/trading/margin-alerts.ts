import { useList } from "../../api/data.ts";

/** Accounts in a margin call or below their stop-out level, the lowest level first. */
export function useMarginAlerts() {
  return useList("/accounts/margin_watch", { query: { limit: 100, margin_status: "margin_call,stop_out" } });
}
