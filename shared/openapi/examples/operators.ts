import { completed_at, created_at, exampleIds, links } from "./identifiers.ts";

const id = exampleIds["operators"];

/** An operator whom the only owner has made an owner, in its event. */
export const addedOwner = {
  ...{ id, object: "operator", role: "owner", status: "invited", agreed: false, version: 1 },
  _links: links({ self: `/operators/${id}` }),
};

/** Examples of the replies about operators, by component. */
export const operatorsReplies: Readonly<Record<string, unknown>> = {
  AddedOwner: addedOwner,
  Operator: {
    id,
    object: "operator",
    email: "ana@example.com",
    name: "Ana Silva",
    role: "finance",
    scopes: ["transactions:read", "transactions:write", "transactions:approve", "transactions:settle", "reports:read"],
    status: "active",
    proposed_change: null,
    last_seen_at: completed_at,
    created_at,
    updated_at: created_at,
    version: 2,
    _links: links({ self: `/operators/${id}` }),
  },
  RemovedOperator: { id, object: "operator", deleted: true },
};
