/** A mistake that a check of this repository found before anybody relied on it. */
export interface FoundMistake {
  readonly wrong: string
  /** Behaviour after the fix. */
  readonly now: string
  /** The test that guards the fix; undefined if the mistake was not in this project's code. */
  readonly heldBy?: { readonly file: string; readonly name: string } | undefined
}

/** Maintained by hand, newest last. Facts only, no numbers of runs. */
export const found: readonly FoundMistake[] = [
  {
    wrong: 'A write was reported as failed and took place later: its statement was still on its way.',
    now: 'Whatever ends the attempts of a write, one whose answer was lost makes it `OUTCOME_UNKNOWN`, unless reading back tells.',
    heldBy: {
      file: 'packages/store/src/writing/entity-writer.test.ts',
      name: 'an update whose statement arrives late counts once',
    },
  },
  {
    wrong:
      'Two processes chose the same version for one entity, and one of them took the other’s write for its own.',
    now: 'The digits of a version below the millisecond are random, and bodies are compared where versions agree.',
    heldBy: {
      file: 'packages/core/src/entities/version-clock.test.ts',
      name: 'processes hardly ever choose the same version within a millisecond',
    },
  },
  {
    wrong:
      'A batch of swaps won in part, could not read back which, and was reported as failed (fault “reading back cut off”).',
    now: 'A batch names its winners in its answer; one that is too long for that is a transaction, which has not taken place then.',
    heldBy: {
      file: 'packages/driver-mysql/src/kysely/read-back.int.test.ts',
      name: 'swaps of one call are one statement, whether they win or lose',
    },
  },
  {
    wrong: 'A lost answer cost a cleaner its lease for a minute.',
    now: 'Whoever has a lease may claim it again at once.',
    heldBy: {
      file: 'packages/testkit/src/contracts/driver/tasks.ts',
      name: 'an owner may claim its task again',
    },
  },
  {
    wrong:
      'An entity with several rows in an index over an array was counted once for each shard that had one.',
    now: 'Counts over all shards of such an index look at the entities.',
    heldBy: {
      file: 'packages/store/src/data-store.test.ts',
      name: 'a count has an entity once whose rows are on several shards',
    },
  },
  {
    wrong: 'A misspelt option was ignored, so that an `ifversion` protected nothing.',
    now: 'Every call refuses options that it does not have.',
    heldBy: {
      file: 'packages/store/src/bad-input.test.ts',
      name: 'put rejects a misspelt ifVersion instead of overwriting the entity',
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
      file: 'packages/driver-mysql/src/connection/tls.int.test.ts',
      name: 'a server with a certificate for its address is used by that only',
    },
  },
  {
    wrong: 'Every statement that was ended at its deadline left a socket behind.',
    now: 'The socket of a call that is given up is destroyed at once.',
    heldBy: {
      file: 'packages/driver-mysql/src/bounds/silence.int.test.ts',
      name: 'hundreds of expiries leave no sockets, no timers and no bodies in memory',
    },
  },
  {
    wrong:
      'The MySQL client library reads some numbers of sixteen digits off by their last bit, so that queries on an index of numbers lost entities (a review, with reproductions).',
    now: 'Such numbers come as text that the language parses.',
    heldBy: {
      file: 'packages/testkit/src/contracts/driver/index-rows.ts',
      name: 'numbers come back to the last bit, with any number of digits',
    },
  },
  {
    wrong:
      'A table that a failed attempt to add an index had left behind was taken for that of another definition.',
    now: 'Names of tables are taken in the catalog before they are used, and the columns of a table are looked at.',
    heldBy: {
      file: 'packages/store/src/catalog/manage-indexes.test.ts',
      name: 'tables left by a failed addition do not affect a later definition with the same name',
    },
  },
  {
    wrong:
      'A process that was held up while it added an index, for longer than its lease, brought a dropped one back (simulation).',
    now: 'Each attempt has a table of its own, and what is dropped stays so.',
    heldBy: { file: 'tooling/simulation/src/checks.ts', name: 'a table never changes its definition' },
  },
  {
    wrong:
      'A commit that waited for a semi-synchronous replica was ended at its deadline, by which the server made it without the replica, and it was acknowledged (failovers of replicas).',
    now: 'Such commits are left alone, and their outcome is unknown.',
    heldBy: {
      file: 'tooling/faults/src/matrix/replica-failover.int.test.ts',
      name: 'ending a commit that no replica confirms does not acknowledge it',
    },
  },
  {
    wrong: 'A failover that lost a change of the catalog let the next change bear the same epoch.',
    now: 'Epochs are times of the shard, and never come again.',
    heldBy: {
      file: 'packages/store/src/catalog/lost-tables.test.ts',
      name: 'a restored shard never reuses a lost epoch, and accepts writes of a process that knew it',
    },
  },
  {
    wrong:
      'A write that was under way over a failover was committed without rows that the old server had taken.',
    now: 'A clean that is begun anew has all writes under way begin again.',
    heldBy: {
      file: 'packages/cleaner/src/clean/clean-index.test.ts',
      name: 'a restart after a failover makes writes in flight start over, because their rows may be gone',
    },
  },
  {
    wrong:
      'A late removal took a row that a deferred write had gained again, after the cleaner had found it there (simulation).',
    now: 'The cleaner writes each row of what was deferred with the version of its entity.',
    heldBy: {
      file: 'packages/cleaner/test/held-up.test.ts',
      name: 'a late delete spares a row that a deferred write gained again and the cleaner has written',
    },
  },
  {
    wrong:
      'A cleaner that was held up over a failover judged the delay of deletions by the time after its reading (simulation).',
    now: 'It judges by the time before.',
    heldBy: {
      file: 'packages/cleaner/test/held-up.test.ts',
      name: 'a held-up cleaner does not judge by a commit that a failover has undone',
    },
  },
  {
    wrong:
      'A cleaner with an older catalog, or one that could not read a body, threw away what was noted as deferred.',
    now: 'It reads the catalog again, and leaves what it cannot read to others.',
    heldBy: {
      file: 'packages/cleaner/test/write-policies.test.ts',
      name: 'a cleaner that does not know the index yet writes its deferred rows',
    },
  },
  {
    wrong:
      'A table that was missing after a restore was created empty, and its index answered as if it were whole.',
    now: 'The index begins anew, and is not answered from until it was filled.',
    heldBy: {
      file: 'packages/store/src/catalog/lost-tables.test.ts',
      name: 'migrate replaces an index with a missing table, and no process queries it until it is filled',
    },
  },
  {
    wrong:
      'Two hundred deferred rows that could not be written yet held up all others of their shard, of other indexes too.',
    now: 'Draining goes past what it cannot settle.',
    heldBy: {
      file: 'packages/cleaner/test/write-policies.test.ts',
      name: 'deferred rows of one index are written while another still cannot be written, with many pending rows',
    },
  },
  {
    wrong:
      'A cleaner whose progress fell back in a failover while it worked never came to an end (simulation).',
    now: 'It does again what is not done any more, and says CONFLICT where its work was forgotten altogether.',
    heldBy: {
      file: 'packages/cleaner/src/clean/clean-index.test.ts',
      name: 'a shard that falls back, in rows and progress, while the next one is worked on is cleaned again',
    },
  },
  {
    wrong:
      'After a failover that lost index rows, a late delete took a row that had fallen back to an older version, though a clean had found it there (simulation).',
    now: 'A clean that is begun anew writes every row again.',
    heldBy: {
      file: 'packages/cleaner/test/held-up.test.ts',
      name: 'a restarted clean rewrites a row that fell back, so that a late delete spares it',
    },
  },
  {
    wrong:
      'An administrator dropped the table of an index that was still read, because a failover had lost the change that took it out of use (simulation).',
    now: 'A change counts when every shard has it, and is made again until then.',
    heldBy: {
      file: 'packages/store/src/catalog/lost-tables.test.ts',
      name: 'a drop whose change a shard has lost does not drop tables of a ready index',
    },
  },
  {
    wrong:
      'A write was acknowledged, a row deleted or taken for written, because of a commit that others could see and no disk had; the crash that followed undid it (servers whose redo log hangs).',
    now: 'A flushed commit on that shard comes first.',
    heldBy: {
      file: 'tooling/faults/src/unflushed/unflushed.int.test.ts',
      name: 'it is not relied on by $name',
    },
  },
  {
    wrong:
      'The same, when the server had died and come back between the reading and the flush, which then said nothing of what had been read (servers whose redo log hangs).',
    now: 'What was read has to be there still when it is flushed.',
    heldBy: {
      file: 'tooling/faults/src/unflushed/unflushed.int.test.ts',
      name: 'servers that are back before a flush',
    },
  },
  {
    wrong:
      'A query missed an entity that matched all the time, because it moved meanwhile from a place that was not read yet to one that was, and its old row was deleted at once (a review, with reproductions).',
    now: 'Rows that an entity has lost stay for as long as a query may take.',
    heldBy: {
      file: 'packages/store/src/reading/moving-entities.test.ts',
      name: 'an entity that moves to a shard that was read already',
    },
  },
  {
    wrong:
      'With `entity-first`, a cleaner deleted a row that it had kept for queries under way, although its entity had it again meanwhile and the writer had not come to write it (late commits, a tail that looks back).',
    now: 'It looks at the entity once more before it deletes what it has kept.',
    heldBy: {
      file: 'packages/cleaner/src/repair/kept-removals.test.ts',
      name: 'a row is kept for an entity, which then %s',
    },
  },
  {
    wrong:
      'A page that was asked of replicas, in a store whose rows may be pending, was read from primaries and said that it was complete where a primary had not answered whether they were (simulation).',
    now: 'Only a page of replicas alone does without that answer.',
    heldBy: {
      file: 'packages/store/src/reading/replicas.test.ts',
      name: 'a query that reads a primary instead of a replica asks it for pending rows',
    },
  },
  {
    wrong:
      'With `deleteDelayMs`, a row was missing after an index was filled: one failover brought back a state from before the index, which was replaced before the check, and the next one brought it back again (simulation, one life in nine thousand).',
    now: 'While an index is filled, a write also writes the rows of what it replaces.',
    heldBy: {
      file: 'packages/store/src/writing/states-that-may-return.test.ts',
      name: 'while an index is filled, a write keeps the rows of the state that it replaces',
    },
  },
  {
    wrong:
      'A unique index that was added beside another generation came without claims: it was to share those of the other, which a process that thought the first one dead dropped meanwhile (simulation, one life in ten thousand).',
    now: 'What comes into use and what it relies on are looked at in one change of the catalog; where that is gone, it comes anew with it.',
    heldBy: {
      file: 'packages/store/src/catalog/shared-claims.test.ts',
      name: 'adding an index makes new claims if another process drops the shared ones (%i)',
    },
  },
  {
    wrong:
      'Claims that were begun anew after a loss of their table stayed although their index was dropped meanwhile, and an index that was begun anew came back although it was dropped or hidden (two changes of one index, one stopped between any two of its statements).',
    now: 'What a change of the catalog takes out, and what it brings, is decided by the catalog that it replaces.',
    heldBy: {
      file: 'packages/store/src/catalog/two-at-once.test.ts',
      name: 'two processes that change %s at once leave consistent indexes',
    },
  },
]
