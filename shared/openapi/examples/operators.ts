import { completed_at, created_at, exampleIds, links } from "./identifiers.ts";

const id = exampleIds["operators"];

/** An operator whom the only owner has made an owner, in its event. */
export const addedOwner = {
  ...{ id, object: "operator", role: "owner", status: "invited", agreed: false, version: 1 },
  _links: links({ self: `/operators/${id}` }),
};

/** An operator who was suspended, in its event. */
export const endedOperator = {
  ...{ id, object: "operator", role: "developer", status: "suspended", reason: "suspended", version: 3 },
  _links: links({ self: `/operators/${id}`, handover: `/operators/${id}/handover` }),
};

/** Examples of the replies about operators, by component. */
export const operatorsReplies: Readonly<Record<string, unknown>> = {
  AddedOwner: addedOwner,
  EndedOperator: endedOperator,
  OperatorHandover: {
    object: "operator_handover",
    operator_id: id,
    status: "suspended",
    applications: [
      {
        id: exampleIds["applications"],
        name: "CRM",
        scopes: ["clients:read", "clients:write"],
        knows: "current_secret",
        secret_rotated_at: null,
      },
    ],
    proposals: [],
    transactions: [],
    more_transactions: false,
    _links: links({ self: `/operators/${id}/handover` }),
  },
  Operator: {
    id,
    object: "operator",
    email: "ana@example.com",
    name: "Ana Silva",
    role: "finance",
    scopes: ["transactions:read", "transactions:write", "transactions:approve", "transactions:settle", "reports:read"],
    status: "active",
    proposed_change: null,
    proposed_reset: null,
    last_seen_at: completed_at,
    created_at,
    updated_at: created_at,
    version: 2,
    _links: links({ self: `/operators/${id}` }),
  },
  RemovedOperator: { id, object: "operator", deleted: true },
};
