import { createLane, type CallOptions } from '@looseleaf/core'
import { sql } from 'kysely'
import type { Flavor } from './flavor.ts'
import { TASK_TABLE } from './schema.ts'
import type { FaultCodes, Session } from './session.ts'

const tasks = sql.table(TASK_TABLE)

/** Never claimed by anybody. Its `lease_until` counts: a statement that changes nothing is not written to disk. */
const ROW = 'flush'

const MAX_WAITING = 100_000

const faults: FaultCodes = {
  'no-table': ['NOT_MIGRATED', 'the task table is missing; create the tables first.'],
}

/**
 * `flush` of a shard. The log of a database is written in order, so when a commit of this session is acknowledged, all that
 * was visible before it is on disk. Calls at the same time share one.
 */
export function createFlush(
  shardName: string,
  session: Session,
  flavor: Flavor,
): (options?: CallOptions) => Promise<void> {
  if (flavor.visibleIsDurable) return () => Promise.resolve()
  const touch = sql`
    INSERT INTO ${tasks} (name, progress, owner, lease_until) VALUES (${sql.lit(ROW)}, '', NULL, 1)
    ${flavor.onDuplicate(['name'])} lease_until = ${sql.ref(`${TASK_TABLE}.lease_until`)} + 1`
  const lane = createLane<undefined, void>({
    name: `${shardName} flush`,
    maxBatch: MAX_WAITING,
    maxQueue: MAX_WAITING,
    run: async (calls) => {
      // Not as a write: when its answer is lost it has not flushed, and there is nothing else to know.
      await session.run(
        session.shape('flush', () => touch),
        [],
        { write: false, faults },
      )
      return calls.map(() => undefined)
    },
  })
  return (options) => lane.submit(undefined, options?.signal)
}
