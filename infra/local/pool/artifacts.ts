type Payload = Record<string, unknown> & {
  readonly accountId?: string;
  readonly grantId?: string;
  readonly uid?: string;
  consumed?: number;
};

interface Kept {
  readonly kind: string;
  readonly payload: Payload;
  readonly until_ms: number;
}

/**
 * Sessions, codes and refresh tokens, which end with the runner. The library asks for one store of each kind.
 */
export class Artifacts {
  private readonly kept = new Map<string, Kept>();

  /** The store of one kind, in the words of the library. */
  storeOf(kind: string) {
    const { kept } = this;
    const keyOf = (id: string) => `${kind}:${id}`;
    const find = async (id: string): Promise<Payload | undefined> => {
      const found = kept.get(keyOf(id));
      return found === undefined || found.until_ms < Date.now() ? undefined : found.payload;
    };
    return {
      find,
      upsert: async (id: string, payload: Payload, seconds = Number.POSITIVE_INFINITY): Promise<void> => {
        kept.set(keyOf(id), { kind, payload, until_ms: Date.now() + seconds * 1000 });
      },
      findByUid: async (uid: string): Promise<Payload | undefined> =>
        [...kept.values()].find((one) => one.kind === kind && one.payload.uid === uid)?.payload,
      findByUserCode: async (): Promise<undefined> => undefined,
      consume: async (id: string): Promise<void> => {
        const found = await find(id);
        if (found !== undefined) found.consumed = Math.floor(Date.now() / 1000);
      },
      destroy: async (id: string): Promise<void> => {
        kept.delete(keyOf(id));
      },
      revokeByGrantId: async (grantId: string): Promise<void> => this.forget(({ grantId: id }) => id === grantId),
    };
  }

  /** Ends every session and token of a user. */
  forgetUser(sub: string): void {
    this.forget(({ accountId }) => accountId === sub);
  }

  private forget(fits: (payload: Payload) => boolean): void {
    for (const [key, { payload }] of this.kept) {
      if (fits(payload)) this.kept.delete(key);
    }
  }
}
