import { setTimeout as sleep } from 'node:timers/promises'
import { consume } from '@looseleaf/changes'
import type { DataStore } from '@looseleaf/store'
import { moment } from '../lab/records.ts'
import { recordError, type GrowthWorker } from './growth-worker.ts'
import { idOf } from './model.ts'

/** Time without a change after which a consumer that was stopped has handled all of them. */
const QUIET_MS = 2_000

/** Handles changes together with the other processes of the consumer, and ends when it was stopped and no change comes any more. */
export async function consumeChanges(worker: GrowthWorker, store: DataStore): Promise<void> {
  const { recorder, config } = worker
  const numbers = new Map<string, number>()
  for (let number = 0; number < config.entities; number++) numbers.set(idOf(number), number)
  let lastAt = performance.now()
  const consumer = consume(
    store,
    'growth',
    ({ id, version, entity }) => {
      lastAt = performance.now()
      const state = entity === undefined ? null : Number(entity['state'])
      recorder.write({ kind: 'change', number: numbers.get(id) ?? -1, state, version, at: moment() })
    },
    {
      from: 'beginning',
      pollMs: 50,
      leaseMs: config.leaseMs,
      // Shards that are down are tried again.
      onError(error) {
        if (!consumer.status().isRunning) recordError(worker, 'consume', moment(), error)
      },
    },
  )
  worker.ready()
  while (consumer.status().isRunning && (!worker.isStopping || performance.now() - lastAt < QUIET_MS))
    await sleep(50)
  if (!worker.isStopping) recorder.write({ kind: 'wrong', message: 'A consumer ended by itself' })
  await consumer.stop()
}
