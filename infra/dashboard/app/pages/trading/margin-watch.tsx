import { ListView } from "../../parts/list.tsx";
import { PageHead } from "../../parts/page.tsx";
import { useClientNames } from "../customers/client-column.tsx";
import { marginColumns } from "./margin-columns.tsx";

/** Accounts by margin level, the lowest first. */
export function MarginWatchPage() {
  const names = useClientNames();
  return (
    <>
      <PageHead title="Margin watch" note={<span className="dim">lowest level first</span>} />
      <ListView
        path="/accounts/margin_watch"
        params={names}
        caption="Accounts by margin level"
        filters={[{ name: "margin_status", label: "Status", values: ["normal", "margin_call", "stop_out"] }]}
        columns={marginColumns}
        idOf={({ account_id }) => account_id}
        to={({ account_id }) => `/accounts/${account_id}`}
        empty={{ title: "No account uses margin", text: "Accounts with open positions are listed here." }}
      />
    </>
  );
}
