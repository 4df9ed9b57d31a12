/**
 * Takes the place of `@smithy/core/event-streams`: no operation that we call streams events, but the import of that
 * module also keeps others from being left out: 18 KB.
 */
function none(): never {
  throw new Error("Event streams are not in this bundle.");
}

/** What a protocol would ask for a serializer of event streams. */
export const eventStreamSerdeProvider = none;

/** What a client with such operations would ask for at its start. */
export const resolveEventStreamSerdeConfig = none;

/** The serializer itself, which no function can make. */
export class EventStreamSerde {
  constructor() {
    none();
  }
}
