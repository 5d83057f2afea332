import { writeSync } from 'node:fs'
import type { Driver, IndexTable, Shard } from '@looseleaf/core'

/** Between which steps of a write a process stops dead. */
export type StopPoint =
  'before the rows' | 'before the commit' | 'after the commit' | 'before the removal' | 'after the removal'

export const stopPoints: readonly StopPoint[] = [
  'before the rows',
  'before the commit',
  'after the commit',
  'before the removal',
  'after the removal',
]

/** Written to standard output just before the process stops. */
export const STOPPING = 'stopping\n'

/**
 * A driver whose process sends itself SIGSTOP the first time that it comes to this point, in the middle of whatever it
 * does, and goes on from there when somebody sends SIGCONT.
 */
export function withStop(driver: Driver, point: StopPoint): Driver {
  let done = false
  const stop = (here: StopPoint): void => {
    if (done || here !== point) return
    done = true
    writeSync(1, STOPPING)
    process.kill(process.pid, 'SIGSTOP')
  }
  const shards = driver.shards.map((shard): Shard => {
    const { entities } = shard
    const tables = new Map<string, IndexTable>()
    return {
      ...shard,
      entities: {
        ...entities,
        async insert(rows, options) {
          stop('before the commit')
          await entities.insert(rows, options)
          stop('after the commit')
        },
        async replace(rows, options) {
          stop('before the commit')
          const won = await entities.replace(rows, options)
          stop('after the commit')
          return won
        },
      },
      index(spec) {
        let table = tables.get(spec.table)
        if (table === undefined) tables.set(spec.table, (table = stoppingIndex(shard.index(spec), stop)))
        return table
      },
    }
  })
  return { shards, close: () => driver.close() }
}

function stoppingIndex(table: IndexTable, stop: (here: StopPoint) => void): IndexTable {
  return {
    ...table,
    async upsert(rows, options) {
      stop('before the rows')
      await table.upsert(rows, options)
    },
    async remove(rows, options) {
      stop('before the removal')
      const removed = await table.remove(rows, options)
      stop('after the removal')
      return removed
    },
  }
}
