/** The codec of attribute values is not asked: `json-protocol.ts` reads and writes them. */
export class DynamoDBJsonCodec2 {}
