/** Where `npm start` serves by default; Cognito takes an address without TLS of the loopback only. */
export const localOrigin = "http://127.0.0.1:3000";
