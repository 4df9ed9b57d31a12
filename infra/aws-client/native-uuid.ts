import { randomUUID } from "node:crypto";

/** Takes the place of the SDK's own UUIDs, which would load the web's cryptography to find `randomUUID` there. */
export const bindV4 = () => (): string => randomUUID();
