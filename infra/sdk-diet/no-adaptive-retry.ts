/** Takes the place of the retry mode `adaptive`, which AWS calls experimental and no client asks for. */
export class AdaptiveRetryStrategy {
  constructor() {
    throw new Error("The retry mode adaptive is not in this bundle.");
  }
}
