/**
 * The dictionary that the text of an outbox item and its events is compressed with. Every function that commits ships
 * it, so it is short: without it a usual commit takes two write units more (ADR 0038).
 */
export const outboxDictionary =
  '"user_agent":"client_id":"cli_01account_id":"acc_01body":{"type":"created_at":"2026-environment":"resource":{' +
  '"version":1},"actor":{"type":"application","id":"app_01request_id":"01data":{"object":{"_links":{"self":{' +
  '"href":"/v2/accounts/';
