// The work of a gang's ranks, in the order in which their hosts launch it.

/** Work of one rank's GPU alone. */
interface Compute {
  readonly kind: "compute";
}

/**
 * A collective, or a send with its receive. Its kernel spins on each member's GPU until all members' kernels run.
 * `key` names it: the communicator, with the operation's number in it. The members are all ranks that have the key.
 */
interface Collective {
  readonly kind: "collective";
  readonly key: string;
}

/** The host launches nothing further before all that it has launched is done. */
interface Sync {
  readonly kind: "sync";
}

/** `stream` is the rank's own number of it. `after`: places in this rank's list of what has to be done before. */
export type Op = (Compute | Collective) & {
  readonly stream: number;
  readonly after?: readonly number[];
};

export interface Rank {
  readonly gpu: number;
  readonly ops: readonly (Op | Sync)[];
  /**
   * Hardware channels of the rank's context. The streams share them by number: an operation that waits at the head of a
   * channel blocks all that was launched into it later, of whichever stream.
   */
  readonly channels: number;
}

export interface Gang {
  readonly ranks: readonly Rank[];
}

export const compute = (stream = 0, after: readonly number[] = []): Op => ({
  ...{ kind: "compute", stream, after },
});
export const collective = (key: string, stream = 0, after: readonly number[] = []): Op => ({
  ...{ kind: "collective", key, stream, after },
});
export const sync: Sync = { kind: "sync" };
