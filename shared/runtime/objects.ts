import { GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { limits } from "../limits.ts";

const s3 = new S3Client({ maxAttempts: limits.calls.attempts, requestHandler: limits.calls.slow_handler });

/** Where an object is. */
export interface ObjectPlace {
  readonly bucket: string;
  readonly key: string;
}

/**
 * Puts an object that is put once; false when there is one of this key already, which stays as it is.
 * @throws Error what S3 says of any other failure
 */
export async function putObjectOnce(
  { bucket, key }: ObjectPlace,
  body: Uint8Array,
  content_type: string,
): Promise<boolean> {
  const input = { Bucket: bucket, Key: key, Body: body, ContentType: content_type, IfNoneMatch: "*" };
  try {
    await s3.send(new PutObjectCommand(input));
    return true;
  } catch (error) {
    if ((error as { name?: string }).name === "PreconditionFailed") return false;
    throw error;
  }
}

/**
 * Puts an object.
 * @throws Error what S3 says
 */
export async function putObject({ bucket, key }: ObjectPlace, body: Uint8Array, content_type: string): Promise<void> {
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body, ContentType: content_type }));
}

/**
 * The content of an object.
 * @throws Error what S3 says, `AccessDenied` too where there is none
 */
export async function readObject({ bucket, key }: ObjectPlace): Promise<Uint8Array> {
  const { Body: body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
  if (body === undefined) throw new Error(`The object ${key} has no content.`);
  return body.transformToByteArray();
}
