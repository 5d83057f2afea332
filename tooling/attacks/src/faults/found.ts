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
    wrong: 'A write was reported as failed and took place later, because its statement was still in flight.',
    now: 'An attempt without an answer makes its write `OUTCOME_UNKNOWN`, unless reading back tells its outcome.',
    heldBy: {
      file: 'packages/store/src/writing/entity-writer.test.ts',
      name: 'an update whose statement arrives late counts once',
    },
  },
  {
    wrong:
      'Two processes chose the same version for one entity, and one process took the other’s write for its own.',
    now: 'The digits of a version below the millisecond are random, and bodies are compared if versions are equal.',
    heldBy: {
      file: 'packages/core/src/entities/version-clock.test.ts',
      name: 'processes hardly ever choose the same version within a millisecond',
    },
  },
  {
    wrong:
      'A batch of swaps that took place in part could not read back its winners, and was reported as failed (fault “reading back cut off”).',
    now: 'The answer of a batch names its winners. A batch that is too long for that is a transaction, which is rolled back.',
    heldBy: {
      file: 'packages/driver-mysql/src/kysely/read-back.int.test.ts',
      name: 'swaps of one call are one statement, whether they win or lose',
    },
  },
  {
    wrong: 'A cleaner whose answer never arrived lost its lease for a minute.',
    now: 'The owner of a lease may claim it again at once.',
    heldBy: {
      file: 'packages/testkit/src/contracts/driver/tasks.ts',
      name: 'an owner may claim its task again',
    },
  },
  {
    wrong: 'A count included an entity with several rows in an index over an array once per shard.',
    now: 'Counts over all shards of such an index read the entities.',
    heldBy: {
      file: 'packages/store/src/data-store.test.ts',
      name: 'a count has an entity once whose rows are on several shards',
    },
  },
  {
    wrong: 'A misspelt option was ignored, so that an `ifversion` protected nothing.',
    now: 'Every call refuses unknown options.',
    heldBy: {
      file: 'packages/store/src/bad-input.test.ts',
      name: 'put rejects a misspelt ifVersion instead of overwriting the entity',
    },
  },
  {
    wrong:
      'Servers of the tests crashed now and then, because a starting mariadbd deletes the temporary tables of all servers that share its temporary folder.',
    now: 'Each server has its own temporary folder.',
  },
  {
    wrong: 'TLS failed if the URL named the server by its IP address.',
    now: 'The certificate is checked against the address if the host is an address.',
    heldBy: {
      file: 'packages/driver-mysql/src/connection/tls.int.test.ts',
      name: 'a server with a certificate for its address is used by that only',
    },
  },
  {
    wrong: 'Every statement that was ended at its deadline left an open socket.',
    now: 'The socket of an abandoned call is destroyed at once.',
    heldBy: {
      file: 'packages/driver-mysql/src/bounds/silence.int.test.ts',
      name: 'hundreds of expiries leave no sockets, no timers and no bodies in memory',
    },
  },
  {
    wrong:
      'The MySQL client library misread the last bit of some numbers with sixteen digits, so queries on an index of numbers missed entities (a review, with reproductions).',
    now: 'Such numbers arrive as text, and JavaScript parses them.',
    heldBy: {
      file: 'packages/testkit/src/contracts/driver/index-rows.ts',
      name: 'numbers come back to the last bit, with any number of digits',
    },
  },
  {
    wrong: 'A table that a failed attempt to add an index had left behind was used for another definition.',
    now: 'The catalog reserves names of tables before their use, and the columns of a table are checked.',
    heldBy: {
      file: 'packages/store/src/catalog/manage-indexes.test.ts',
      name: 'tables left by a failed addition do not affect a later definition with the same name',
    },
  },
  {
    wrong:
      'A process that was delayed beyond its lease while it added an index restored a dropped index (simulation).',
    now: 'Each attempt has its own table, and a dropped index stays dropped.',
    heldBy: { file: 'tooling/simulation/src/checks.ts', name: 'a table never changes its definition' },
  },
  {
    wrong:
      'A commit that waited for a semi-synchronous replica was killed at its deadline. The server then committed without the replica, and the commit was acknowledged (failovers of replicas).',
    now: 'Such commits are not killed, and their outcome is unknown.',
    heldBy: {
      file: 'tooling/attacks/src/faults/matrix/replica-failover.int.test.ts',
      name: 'ending a commit that no replica confirms does not acknowledge it',
    },
  },
  {
    wrong: 'After a failover that lost a change of the catalog, the next change got the same epoch.',
    now: 'Epochs are times of the shard and are never reused.',
    heldBy: {
      file: 'packages/store/src/catalog/lost-tables.test.ts',
      name: 'a restored shard never reuses a lost epoch, and accepts writes of a process that knew it',
    },
  },
  {
    wrong:
      'A write in flight during a failover was committed without the rows that it had written on the old server.',
    now: 'A restarted clean makes all writes in flight start again.',
    heldBy: {
      file: 'packages/cleaner/src/clean/clean-index.test.ts',
      name: 'a restart after a failover makes writes in flight start over, because their rows may be gone',
    },
  },
  {
    wrong:
      'A late delete removed a row that a deferred write needed again, after the cleaner had seen the row (simulation).',
    now: 'The cleaner writes each deferred row with the version of its entity.',
    heldBy: {
      file: 'packages/cleaner/test/held-up.test.ts',
      name: 'a late delete spares a row that a deferred write gained again and the cleaner has written',
    },
  },
  {
    wrong:
      'A cleaner that was delayed during a failover counted the delay of deletes from a time after its read (simulation).',
    now: 'It counts from a time before its read.',
    heldBy: {
      file: 'packages/cleaner/test/held-up.test.ts',
      name: 'a held-up cleaner does not judge by a commit that a failover has undone',
    },
  },
  {
    wrong:
      'A cleaner with a stale catalog, or without the definitions of a body, deleted pending rows unprocessed.',
    now: 'It reads the catalog again, and leaves pending rows that it cannot process.',
    heldBy: {
      file: 'packages/cleaner/test/write-policies.test.ts',
      name: 'a cleaner that does not know the index yet writes its deferred rows',
    },
  },
  {
    wrong:
      'A table that was missing after a restore was created empty, and its index answered as if it were complete.',
    now: 'The index starts over, and answers no query until it is filled.',
    heldBy: {
      file: 'packages/store/src/catalog/lost-tables.test.ts',
      name: 'migrate replaces an index with a missing table, and no process queries it until it is filled',
    },
  },
  {
    wrong:
      'Two hundred deferred rows that could not be written yet blocked all others of their shard, even those of other indexes.',
    now: 'Draining skips rows that it cannot write yet.',
    heldBy: {
      file: 'packages/cleaner/test/write-policies.test.ts',
      name: 'deferred rows of one index are written while another still cannot be written, with many pending rows',
    },
  },
  {
    wrong: 'A running cleaner whose progress a failover had undone never finished (simulation).',
    now: 'It repeats the undone part, and throws CONFLICT if its whole run was undone.',
    heldBy: {
      file: 'packages/cleaner/src/clean/clean-index.test.ts',
      name: 'a shard that falls back, in rows and progress, while the next one is worked on is cleaned again',
    },
  },
  {
    wrong:
      'After a failover that lost index rows, a late delete removed a row that had fallen back to an older stamp, although a clean had seen the row (simulation).',
    now: 'A restarted clean writes every row again.',
    heldBy: {
      file: 'packages/cleaner/test/held-up.test.ts',
      name: 'a restarted clean rewrites a row that fell back, so that a late delete spares it',
    },
  },
  {
    wrong:
      'An administrator dropped the table of an index that was still read, because a failover had undone the change that retired the index (simulation).',
    now: 'A change counts only when every shard has it, and is repeated until then.',
    heldBy: {
      file: 'packages/store/src/catalog/lost-tables.test.ts',
      name: 'a drop whose change a shard has lost does not drop tables of a ready index',
    },
  },
  {
    wrong:
      'A process acknowledged a write, deleted a row or assumed a row because of a commit that was visible but not on disk, and a crash undid the commit (servers whose redo log hangs).',
    now: 'The process first makes a flushed commit on that shard.',
    heldBy: {
      file: 'tooling/attacks/src/faults/unflushed/unflushed.int.test.ts',
      name: 'no such commit is relied on by $name',
    },
  },
  {
    wrong:
      'The same happened if the server restarted between the read and the flush, because that flush proved nothing about the read (servers whose redo log hangs).',
    now: 'The process reads again after the flush and requires the same version.',
    heldBy: {
      file: 'tooling/attacks/src/faults/unflushed/unflushed.int.test.ts',
      name: 'servers that are back before a flush',
    },
  },
  {
    wrong:
      'A query missed an entity that matched all the time. The entity moved from a place that the query had not read yet to one that it had read, and its old row was deleted at once (a review, with reproductions).',
    now: 'Lost rows stay as long as a query may take.',
    heldBy: {
      file: 'packages/store/src/reading/queries/moving-entities.test.ts',
      name: 'an entity that moves to a shard that was read already',
    },
  },
  {
    wrong:
      'With `entity-first`, a cleaner deleted a kept row although its entity had the key again and the writer had not written the row yet (late commits, a tail that looks back).',
    now: 'It reads the entity again before it deletes a kept row.',
    heldBy: {
      file: 'packages/cleaner/src/repair/kept-removals.test.ts',
      name: 'a row is kept for an entity, which then %s',
    },
  },
  {
    wrong:
      'A page that was requested from replicas, in a store with pending rows, was read from primaries and reported itself complete before a primary had answered whether rows were pending (simulation).',
    now: 'Only a page that is read entirely from replicas does without that answer.',
    heldBy: {
      file: 'packages/store/src/reading/freshness/replicas.test.ts',
      name: 'a query that reads a primary instead of a replica asks it for pending rows',
    },
  },
  {
    wrong:
      'With `deleteDelayMs`, a row was missing after an index was filled. A failover brought back a state from before the index, which was replaced before the check, and the next failover brought it back again (simulation, one life in nine thousand).',
    now: 'While an index is filled, a write also writes the rows of the state that it replaces.',
    heldBy: {
      file: 'packages/store/src/writing/states-that-may-return.test.ts',
      name: 'while an index is filled, a write keeps the rows of the state that it replaces',
    },
  },
  {
    wrong:
      'A unique index that was added beside another generation had no claims. It was to share those of the other generation, which a process dropped because it thought that the first process had died (simulation, one life in ten thousand).',
    now: 'One change of the catalog checks a new generation and the claims that it shares, and creates the claims again if they are gone.',
    heldBy: {
      file: 'packages/store/src/catalog/shared-claims.test.ts',
      name: 'adding an index makes new claims if another process drops the shared ones (%i)',
    },
  },
  {
    wrong:
      'Claims that started over after their table went missing stayed although their index was dropped in between, and an index that started over came back although it was dropped or hidden (two changes of one index, one stopped between any two of its statements).',
    now: 'The catalog that a change replaces decides what the change removes and adds.',
    heldBy: {
      file: 'packages/store/src/catalog/two-at-once.test.ts',
      name: 'two processes that change %s at once leave consistent indexes',
    },
  },
  {
    wrong:
      'A removal of the leading shard was gone after its call had resolved: another process had taken it over before it was on the disk of that shard, a crash undid it there, and a change that began meanwhile replaced it (the model of removals).',
    now: 'The next shard takes a removal over once it is on the disk of the removed one.',
    heldBy: {
      file: 'packages/looseleaf/test/crashed-removals.test.ts',
      name: 'a removal is taken over from the leading shard only when it is on the disk there',
    },
  },
  {
    wrong:
      'A process left a removed shard out whose removal a crash then undid on the next shard, and could not change the catalog until it was restarted (the model of removals).',
    now: 'A process leaves a shard out once the removal is on the disk of another one.',
    heldBy: {
      file: 'packages/looseleaf/test/crashed-removals.test.ts',
      name: 'a removal that a crash undoes on the next leading shard is not relied on',
    },
  },
]
