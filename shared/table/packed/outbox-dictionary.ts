/**
 * What the text of an outbox item and the events in it have in common. Every function that commits ships it, so it is
 * short: with that of stored events, 6 KB, most items would take no write unit less. It decides what the bytes of
 * waiting items mean: another one is another schema version of outbox items.
 */
export const outboxDictionary =
  '"user_agent":"client_id":"cli_01account_id":"acc_01body":{"type":"created_at":"2026-environment":"resource":{' +
  '"version":1},"actor":{"type":"application","id":"app_01request_id":"01data":{"object":{"_links":{"self":{' +
  '"href":"/v2/accounts/';
