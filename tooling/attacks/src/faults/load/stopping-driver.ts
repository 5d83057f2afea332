import { writeSync } from 'node:fs'
import type { Driver } from '@looseleaf/core'
import { changed } from '@looseleaf-tooling/kit/changed-driver'
import { moment } from '../../lab/records.ts'
import type { StoppedRecord } from '../history/records.ts'

/** Step of a write after which a process stops. */
export type StopPoint =
  | 'before the rows'
  | 'before the commit'
  | 'after the commit'
  | 'before the removal'
  | 'after the removal'

export const stopPoints: readonly StopPoint[] = [
  'before the rows',
  'before the commit',
  'after the commit',
  'before the removal',
  'after the removal',
]

/** Written to standard output just before the process stops. */
const STOPPING = 'stopping\n'

const SIGNAL_MS = 20

/**
 * Returns a driver whose process sends itself SIGSTOP the first time that it reaches this point. It continues
 * there after SIGCONT.
 */
export function withStop(driver: Driver, point: StopPoint, record: (stopped: StoppedRecord) => void): Driver {
  let done = false
  const stop = (here: StopPoint): void => {
    if (done || here !== point) return
    done = true
    const start = moment()
    writeSync(1, STOPPING)
    process.kill(process.pid, 'SIGSTOP')
    // The signal may take a moment to arrive; block until it does.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SIGNAL_MS)
    record({ kind: 'stopped', start, end: moment() })
  }
  return changed(driver, {
    entities: (entities) => ({
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
    }),
    index: (table) => ({
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
    }),
  })
}
