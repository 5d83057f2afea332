/** A process that writes entities, consumes their changes, or reads changed entities by their times alone. */
import { setTimeout as sleep } from 'node:timers/promises'
import { consume } from '@looseleaf/changes'
import { formatId, isLooseleafError } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { runAsChild, type Child } from '../../lab/child.ts'
import { openStore } from '../../lab/open-store.ts'
import { moment } from '../../lab/records.ts'
import { createRandom } from '@looseleaf-tooling/kit/random'
import type { ChangesConfig, ChangesRecord } from './changes-records.ts'

type Worker = Child<ChangesConfig, ChangesRecord>

/** Share of the changes for which the handler throws. */
const THROW_SHARE = 0.01
const BY_TIME_POLL_MS = 100
const PAGE = 500

async function run(worker: Worker): Promise<void> {
  const { role, urls, seed, number } = worker.config
  const store = await openStore(urls, {
    connections: { deadlineMs: 5_000, connectTimeoutMs: 5_000, lockWaitSeconds: 2 },
    again: () => !worker.isStopping,
  })
  worker.ready()
  const random = createRandom(seed * 1_000 + number)
  if (role === 'write') await write(worker, store, random)
  else if (role === 'consume') await handle(worker, store, random)
  else await readByTime(worker, store)
  await store.close()
}

type Random = ReturnType<typeof createRandom>

async function write(worker: Worker, store: DataStore, random: Random): Promise<void> {
  const { ids, clients, restMs } = worker.config
  const caller = async (): Promise<void> => {
    while (!worker.isStopping) {
      const id = random.pick(ids)
      try {
        if (random.chance(0.1)) await store.delete(id)
        else await store.put({ number: worker.nextNumber(), text: 'x'.repeat(random.below(400)) }, { id })
      } catch (error) {
        if (!isLooseleafError(error)) throw error
      }
      await sleep(restMs)
    }
  }
  await Promise.all(Array.from({ length: clients }, caller))
}

async function handle(worker: Worker, store: DataStore, random: Random): Promise<void> {
  const { consumer: name, leaseMs } = worker.config
  const inProgress = new Set<string>()
  const consumer = consume(
    store,
    name,
    async ({ id, version, updated }) => {
      if (inProgress.has(id)) worker.recorder.write({ kind: 'wrong', message: `${id}: two handlers at once` })
      inProgress.add(id)
      try {
        await sleep(random.below(3))
        if (random.chance(THROW_SHARE)) throw new Error('Refused on purpose.')
        worker.recorder.write({
          kind: 'handled',
          id,
          version,
          at: moment(),
          afterMs: Date.now() - updated.getTime(),
        })
      } finally {
        inProgress.delete(id)
      }
    },
    {
      from: 'beginning',
      pollMs: 100,
      leaseMs,
      retryMs: 50,
      concurrency: 16,
      onError(error, change) {
        // The handlers of this worker throw on purpose; other errors count as errors of shards.
        if (change === undefined)
          worker.recorder.write({ kind: 'error', code: isLooseleafError(error) ? error.code : String(error) })
      },
    },
  )
  while (!worker.isStopping && consumer.status().isRunning) await sleep(20)
  if (!worker.isStopping) worker.recorder.write({ kind: 'wrong', message: 'A consumer ended by itself.' })
  await consumer.stop()
}

/** Follows writes without the floor: reads from the latest time seen so far. */
async function readByTime(worker: Worker, store: DataStore): Promise<void> {
  await Promise.all(
    store.context.driver.shards.map(async ({ entities }) => {
      let since = 0
      while (!worker.isStopping) {
        try {
          const rows = await entities.pageByUpdated({ since }, PAGE)
          for (const { id, version, updated } of rows) {
            since = Math.max(since, updated)
            const afterMs = Date.now() - updated / 1000
            worker.recorder.write({ kind: 'handled', id: formatId(id), version, at: moment(), afterMs })
          }
        } catch (error) {
          if (!isLooseleafError(error)) throw error
        }
        await sleep(BY_TIME_POLL_MS)
      }
    }),
  )
}

runAsChild<ChangesConfig, ChangesRecord>(
  run,
  () => false,
  (error) => ({ kind: 'wrong', message: `A process ended with ${String(error)}` }),
)
