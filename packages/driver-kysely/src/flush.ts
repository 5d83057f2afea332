import { createLane, throwIfAborted, type CallOptions } from '@looseleaf/core'
import { sql } from 'kysely'
import type { Flavor } from './flavor.ts'
import { TASK_TABLE } from './schema.ts'
import type { Call, FaultCodes, Session } from './session.ts'

const tasks = sql.table(TASK_TABLE)

/** Never claimed by anybody. Its `lease_until` counts: a statement that changes nothing is not written to disk. */
const ROW = 'flush'

const MAX_WAITING = 100_000

const faults: FaultCodes = {
  'no-table': ['NOT_MIGRATED', 'the task table is missing; create the tables first.'],
}

/** The log of a database is written in order: when a commit is acknowledged, all that was visible before it is on disk. */
export interface Flush {
  /** `flush` of the shard. Calls at the same time share a commit. */
  shard(options?: CallOptions): Promise<void>
  /** Does the work again if need be, so that a commit follows it on its own connection. Nothing where none is needed. */
  after(call: Call, work: (through: Session) => Promise<unknown>): Promise<void>
  /** Makes the commit of a transaction that has changed nothing one that is written to disk. Nothing where none is needed. */
  within(inner: Session): Promise<void>
}

export function createFlush(shardName: string, session: Session, flavor: Flavor): Flush {
  if (flavor.visibleIsDurable) {
    return {
      shard: async (options) => throwIfAborted(options?.signal),
      after: async () => {},
      within: async () => {},
    }
  }
  const touch = sql`
    INSERT INTO ${tasks} (name, progress, owner, lease_until) VALUES (${sql.lit(ROW)}, '', NULL, 1)
    ${flavor.onDuplicate(['name'])} lease_until = ${sql.ref(`${TASK_TABLE}.lease_until`)} + 1`
  const lane = createLane<undefined, void>({
    name: `${shardName} flush`,
    maxBatch: MAX_WAITING,
    maxQueue: MAX_WAITING,
    run: async (calls) => {
      await commit(session)
      return calls.map(() => undefined)
    },
  })

  async function commit(through: Session): Promise<void> {
    // Not as a write: when its answer is lost it has not flushed, and there is nothing else to know.
    await through.run(
      session.shape('flush', () => touch),
      [],
      { write: false, faults },
    )
  }

  return {
    shard: (options) => lane.submit(undefined, options?.signal),
    async after(call, work) {
      // A server that dies between the two takes the connection with it.
      await session.transaction(call, async (inner) => {
        await work(inner)
        await commit(inner)
      })
    },
    within: commit,
  }
}
