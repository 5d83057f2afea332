/** Something that was wrong, and was found by a check of this repository before anybody relied on it. */
export interface Found {
  readonly wrong: string
  /** What holds now. */
  readonly now: string
  /** The test that holds it; undefined where it was not the project's own code. */
  readonly heldBy?: { readonly file: string; readonly name: string } | undefined
}

/** Kept by hand, newest last: facts, and no numbers of runs. */
export const found: readonly Found[] = [
  {
    wrong: 'A write was reported as failed and took place later: its statement was still on its way.',
    now: 'Whatever ends the attempts of a write, one whose answer was lost makes it `OUTCOME_UNKNOWN`, unless reading back tells.',
    heldBy: {
      file: 'packages/store/src/entity-writer.test.ts',
      name: 'counts once, however late the statement arrives',
    },
  },
  {
    wrong:
      'Two processes chose the same version for one entity, and one of them took the other’s write for its own.',
    now: 'The digits of a version below the millisecond are random, and bodies are compared where versions agree.',
    heldBy: {
      file: 'packages/core/src/version-clock.test.ts',
      name: 'processes of one millisecond hardly ever meet on one version',
    },
  },
  {
    wrong:
      'A batch of swaps won in part, could not read back which, and was reported as failed (fault “reading back cut off”).',
    now: 'Its outcome is unknown, and every write of it finds out by itself.',
    heldBy: {
      file: 'packages/driver-mysql/src/read-back.int.test.ts',
      name: 'a swap that won in part, and cannot read which, has an unknown outcome',
    },
  },
  {
    wrong: 'A lost answer cost a cleaner its lease for a minute.',
    now: 'Whoever has a lease may claim it again at once.',
    heldBy: {
      file: 'packages/testkit/src/driver-contract-tasks.ts',
      name: 'its owner may claim it again',
    },
  },
  {
    wrong:
      'An entity with several rows in an index over an array was counted once for each shard that had one.',
    now: 'Counts over all shards of such an index look at the entities.',
    heldBy: {
      file: 'packages/store/src/data-store.test.ts',
      name: 'counts an entity once, on however many shards its rows are',
    },
  },
  {
    wrong: 'A misspelt option was ignored, so that an `ifversion` protected nothing.',
    now: 'Every call refuses options that it does not have.',
    heldBy: {
      file: 'packages/store/src/bad-input.test.ts',
      name: 'refuses a misspelt ifVersion instead of overwriting what it was to protect',
    },
  },
  {
    wrong:
      'Servers of the tests crashed now and then: a mariadbd that starts deletes the temporary tables of every other one that shares its folder for them.',
    now: 'Each server has a folder of its own.',
  },
  {
    wrong: 'TLS did not work with a server that is named by its IP address.',
    now: 'A certificate is held against the address where the host is given as one.',
    heldBy: {
      file: 'packages/driver-mysql/src/tls.int.test.ts',
      name: 'is used by its address, and by no other',
    },
  },
  {
    wrong: 'Every statement that was ended at its deadline left a socket behind.',
    now: 'The socket of a call that is given up is destroyed at once.',
    heldBy: {
      file: 'packages/driver-mysql/src/silence.int.test.ts',
      name: 'hundreds of expiries leave no sockets, no timers and no bodies in memory',
    },
  },
]
