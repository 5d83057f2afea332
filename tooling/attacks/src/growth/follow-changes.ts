import { isLooseleafError } from '@looseleaf/core'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DataStore } from '@looseleaf/store'
import { moment } from '../lab/records.ts'
import { idOf } from './model.ts'
import { recordError, type GrowthWorker } from './growth-worker.ts'

/** Time without a change after which a follower that was stopped has read all of them. */
const QUIET_MS = 2_000

/** Follows the changes of all entities from the beginning, and ends when it was stopped and no change comes any more. */
export async function followChanges(worker: GrowthWorker, store: DataStore): Promise<void> {
  const { recorder, config } = worker
  const numbers = new Map<string, number>()
  for (let number = 0; number < config.entities; number++) numbers.set(idOf(number), number)
  const ended = new AbortController()
  let lastAt = performance.now()
  const watching = (async () => {
    while (!worker.isStopping || performance.now() - lastAt < QUIET_MS) await sleep(50)
    ended.abort()
  })()
  worker.ready()
  for (let gone = false; !ended.signal.aborted;) {
    const from = moment()
    recorder.write({ kind: 'beginning', gone, at: from })
    try {
      const changes = store.changes({
        from: 'beginning',
        pollMs: 50,
        signal: ended.signal,
      })
      for await (const { id, version, entity } of changes) {
        lastAt = performance.now()
        const number = numbers.get(id)
        if (number === undefined) {
          recorder.write({ kind: 'wrong', message: `A change of an unknown entity ${id}` })
          continue
        }
        const state = entity === undefined ? null : Number(entity['state'])
        recorder.write({ kind: 'change', number, state, version, at: moment() })
      }
    } catch (error) {
      gone = isLooseleafError(error, 'CHANGES_GONE')
      if (!gone) recordError(worker, 'changes', from, error)
      await sleep(50)
    }
  }
  await watching
}
