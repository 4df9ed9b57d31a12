/**
 * Takes the place of `@aws-sdk/credential-provider-node`. Functions only ever get credentials from their environment,
 * so the chain of eight providers (files, SSO, web identity, instance metadata) is dead weight: 130 KB and a tenth of a
 * cold start.
 */
export const defaultProvider = () => async () => {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = process.env;
  if (!accessKeyId || !secretAccessKey) throw new Error("The environment holds no AWS credentials.");
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
};
