/** The least that a function can be: what every ratio of the bench is taken to. */
export async function handler(): Promise<{ statusCode: number; body: string }> {
  return { statusCode: 200, body: "{}" };
}
