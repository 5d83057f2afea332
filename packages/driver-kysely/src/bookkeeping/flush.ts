import type { CallOptions } from '@looseleaf/core'
import { createLane, throwIfAborted } from '@looseleaf/core/internal'
import { sql } from 'kysely'
import type { Flavor } from '../database/flavor.ts'
import { TASK_TABLE } from '../database/table-names.ts'
import type { Call, FaultCodes, Session } from '../database/session.ts'

const tasks = sql.table(TASK_TABLE)

/** Task that no process claims. Each flush increments its `lease_until`, since a commit without a change is not written to disk. */
const ROW = 'flush'

const MAX_QUEUE = 100_000

/** Faults of the task table. */
export const taskFaults: FaultCodes = {
  'no-table': ['NOT_MIGRATED', 'the task table is missing; create the tables first.'],
}

/**
 * Makes visible commits durable. A database writes its log in order, so once a later commit is acknowledged, every commit that
 * was visible before it is on disk. Does nothing where visible commits are durable.
 */
export interface Flush {
  /** `flush` of the shard. Concurrent calls share a commit. */
  shard(options?: CallOptions): Promise<void>
  /** Sends statements again, in a transaction whose commit is written to disk. */
  commitAfter(call: Call, send: (through: Session) => Promise<unknown>): Promise<void>
  /** Adds a change to a transaction that has none, so that its commit is written to disk. */
  addChange(inner: Session): Promise<void>
}

export function createFlush(shardName: string, session: Session, flavor: Flavor): Flush {
  if (flavor.visibleIsDurable) {
    return {
      shard: async (options) => throwIfAborted(options?.signal),
      commitAfter: async () => {},
      addChange: async () => {},
    }
  }
  const increment = sql`
    INSERT INTO ${tasks} (name, progress, owner, lease_until) VALUES (${sql.lit(ROW)}, '', NULL, 1)
    ${flavor.onDuplicate(['name'])} lease_until = ${sql.ref(`${TASK_TABLE}.lease_until`)} + 1`
  const lane = createLane<undefined, void>({
    name: `${shardName} flush`,
    maxBatch: MAX_QUEUE,
    maxQueue: MAX_QUEUE,
    run: async (calls) => {
      await addChange(session)
      return calls.map(() => undefined)
    },
  })

  async function addChange(through: Session): Promise<void> {
    // `write: false`, since an unknown outcome has no meaning here: without an answer nothing counts as flushed.
    await through.run(
      session.shape('flush', () => increment),
      [],
      { write: false, faults: taskFaults },
    )
  }

  return {
    shard: (options) => lane.submit(undefined, options?.signal),
    async commitAfter(call, send) {
      // One connection for both: if the server crashes between them, the second fails.
      await session.transaction(call, async (inner) => {
        await send(inner)
        await addChange(inner)
      })
    },
    addChange,
  }
}
