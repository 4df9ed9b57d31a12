import { limits } from "../limits.ts";
import { page } from "../schema/fields.ts";
import { OperatorHandover } from "../schema/people/handover.ts";
import {
  CreateOperatorRequest,
  ListOperatorsQuery,
  Operator,
  RemovedOperator,
  UpdateOperatorRequest,
} from "../schema/people/operator.ts";
import { route } from "./route.ts";

const { mails_per_day, brokerage_mails_per_day } = limits.operators;
const mailLimits =
  `An operator is sent at most ${mails_per_day} emails a day (UTC) and all of a brokerage ` +
  `${brokerage_mails_per_day}; beyond that the answer is 429, with the seconds to the next day in \`Retry-After\`.`;

/** `GET /operators` */
export const listOperators = route({
  id: "list_operators",
  method: "GET",
  path: "/operators",
  tag: "Operators",
  summary: "List operators",
  description: "Newest first, without those that were removed. Invited operators have not signed in yet.",
  file: "operators/list",
  scope: "operators:write",
  grants: ["query:list", "read"],
  query: ListOperatorsQuery,
  reply: page(Operator),
  refusals: ["invalid_cursor"],
});

/** `POST /operators` */
export const createOperator = route({
  id: "create_operator",
  method: "POST",
  path: "/operators",
  tag: "Operators",
  summary: "Invite an operator",
  description:
    "The invited person gets an email with a temporary password and becomes active by signing in. The caller's token " +
    "must hold every scope of the role. While the brokerage has two active owners, an owner proposes a role with a " +
    "scope that only two owners give (`transactions:approve`, `applications:write`, `operators:write`, " +
    "`settings:write`, `feed:write`) in `proposed_change`: the operator is a viewer until a second owner sends the " +
    "role in a `PATCH` within 72 hours. An email address that was removed is the same person again where four eyes " +
    "are required. " +
    mailLimits,
  file: "operators/create",
  scope: "operators:write",
  governs: ["operators", "brokerages"],
  standing: "held",
  grants: ["read", "put", "update", "put:keys", "check"],
  body: CreateOperatorRequest,
  reply: Operator,
  status: 201,
  example: { email: "ana@example.com", name: "Ana Silva", role: "finance" },
  refusals: ["insufficient_scope", "four_eyes_required", "operator_exists", "too_many_operators"],
  emits: ["owner.added"],
});

/** `GET /operators/{id}` */
export const getOperator = route({
  id: "get_operator",
  method: "GET",
  path: "/operators/{id}",
  tag: "Operators",
  summary: "Get an operator",
  description: "Returns the operator, with the scopes of the role and the time of the last token.",
  file: "operators/get",
  scope: "operators:write",
  grants: ["read"],
  reply: Operator,
});

/** `GET /operators/{id}/handover` */
export const getOperatorHandover = route({
  id: "get_operator_handover",
  method: "GET",
  path: "/operators/{id}/handover",
  tag: "Operators",
  summary: "Get what an operator hands over",
  description:
    "What a person who leaves may still act through, and what of theirs is undecided: active applications whose " +
    "secret they made or were shown, also through another application; open proposals of settings, operators, links " +
    "of accounts, feed sources and drifts, and undecided transactions: those that they made or approved, or that no " +
    "one else is left to decide. An application stays when its maker leaves: rotate its secret with `grace_seconds` " +
    "0, or revoke it, and it is no longer listed. Also of an operator who was removed.",
  file: "operators/handover",
  scope: "operators:write",
  grants: ["read", "query:list", "query:state"],
  reply: OperatorHandover,
});

/** `PATCH /operators/{id}` */
export const updateOperator = route({
  id: "update_operator",
  method: "PATCH",
  path: "/operators/{id}",
  tag: "Operators",
  summary: "Update an operator",
  description:
    "A merge patch (RFC 7396). A suspension or another role takes effect within a minute, also for tokens that were " +
    "already issued. The caller's token must hold every scope of the role before and after the change. The last " +
    "active owner of a brokerage can be neither suspended nor given another role. While there are two, an owner " +
    "proposes this for another one (`proposed_change`), and so everything that gives an operator a scope that only " +
    "two owners give (`transactions:approve`, `applications:write`, `operators:write`, `settings:write`, " +
    "`feed:write`). It holds when a second owner sends the same within 72 hours; the current role and status " +
    "withdraw it.",
  file: "operators/update",
  scope: "operators:write",
  governs: ["operators", "brokerages"],
  standing: "read",
  grants: ["read", "put", "update"],
  body: UpdateOperatorRequest,
  media: "merge_patch",
  reply: Operator,
  example: { role: "viewer" },
  refusals: ["insufficient_scope", "last_owner", "four_eyes_required", "illegal_transition"],
  emits: ["owner.added", "operator.ended"],
});

/** `POST /operators/{id}/invite` */
export const inviteOperator = route({
  id: "invite_operator",
  method: "POST",
  path: "/operators/{id}/invite",
  tag: "Operators",
  summary: "Send an invitation again",
  description:
    "Sends another email with a new temporary password, which is valid for seven days and replaces the previous one. " +
    "Only for operators who have not signed in yet. A person with a password, as an operator of another brokerage, " +
    "gets no email. " +
    mailLimits,
  file: "operators/invite",
  scope: "operators:write",
  governs: ["operators", "brokerages"],
  standing: "held",
  grants: ["read", "put", "update", "check"],
  reply: Operator,
  refusals: ["insufficient_scope", "illegal_transition"],
});

/** `POST /operators/{id}/reset_credentials` */
export const resetOperatorCredentials = route({
  id: "reset_operator_credentials",
  method: "POST",
  path: "/operators/{id}/reset_credentials",
  tag: "Operators",
  summary: "Reset the credentials of an operator",
  description:
    "For a person who lost their password or their authenticator app, or whose credentials somebody else may know. " +
    "Password, second factor and sessions end, and an email brings a temporary password, which is valid for seven " +
    "days. Only for active operators, and never for the caller. While the brokerage has two active owners, an owner " +
    "proposes it for an operator with a scope that only two owners give (`proposed_reset`), and it holds when a " +
    "second owner requests it too within 72 hours. A person who works for other brokerages as well signs in to those " +
    "again once an owner there has reset their credentials too. " +
    mailLimits,
  file: "operators/reset-credentials",
  scope: "operators:write",
  governs: ["operators", "brokerages"],
  standing: "held",
  grants: ["read", "put", "update", "check"],
  reply: Operator,
  refusals: ["insufficient_scope", "four_eyes_required", "illegal_transition"],
});

/** `DELETE /operators/{id}` */
export const deleteOperator = route({
  id: "delete_operator",
  method: "DELETE",
  path: "/operators/{id}",
  tag: "Operators",
  summary: "Remove an operator",
  description:
    "Permanent. Tokens that were already issued are refused within a minute, and the email address can be invited " +
    "again. Within minutes the operator's name, email address, IP addresses and user agents can no longer be read in " +
    "the audit log, which keeps the identifier: suspend an operator whose actions are still to be examined. A hash " +
    "of the email address stays, so that the same person is recognized when they are invited again. The " +
    "last active owner of a brokerage cannot be removed; while there are two, an owner proposes to remove another " +
    "one, and it holds when a second owner requests it too within 72 hours.",
  file: "operators/delete",
  scope: "operators:write",
  governs: ["operators", "brokerages"],
  standing: "read",
  grants: ["read", "put", "update"],
  reply: RemovedOperator,
  refusals: ["insufficient_scope", "last_owner", "four_eyes_required"],
  emits: ["operator.ended"],
});

/** Rows of the operators. */
export const operatorRoutes = [
  listOperators,
  createOperator,
  getOperator,
  getOperatorHandover,
  updateOperator,
  inviteOperator,
  resetOperatorCredentials,
  deleteOperator,
] as const;
