/** No operation that functions call sends or gets a stream of events, so no schema need be looked through for one. */
export const NormalizedSchema = { of: () => ({ getEventStreamMember: () => "" }) };
