/**
 * Where `npm start` and the development server of the dashboard serve by default; Cognito takes an address without TLS
 * of the loopback only.
 */
export const localOrigin = "http://127.0.0.1:3000";

/** Where `npm start` serves the dashboard by default. */
export const localDashboard = "http://127.0.0.1:3003";
