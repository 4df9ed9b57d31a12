import { inWords } from "../../parts/format.ts";
import { Table } from "../../parts/table.tsx";
import { useCaller } from "../../session/caller.ts";
import { type Role, roleScopes, roleWords, type ScopeGroup, scopeGroups } from "./scopes.ts";

/** Rights of each role on each page, in words. */
export function RoleTable() {
  const { environment } = useCaller();
  const cell = (role: Role) => (group: ScopeGroup) => {
    const words = group.scopes.flatMap(([scope, word]) =>
      roleScopes(role, environment).includes(scope) ? [word] : [],
    );
    return words.length === 0 ? <span className="faint">–</span> : words.join(", ");
  };
  return (
    <details className="roles">
      <summary>What each role may do</summary>
      <div className="roles-place">
        <Table
          caption="Rights by page and role"
          rows={scopeGroups}
          columns={[
            { head: "Page", width: 92, cell: ({ name }) => name },
            ...roleWords.map(([role]) => ({ head: inWords(role), cell: cell(role) })),
          ]}
          idOf={({ name }) => name}
        />
      </div>
    </details>
  );
}
