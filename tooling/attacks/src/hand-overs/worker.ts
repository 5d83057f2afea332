/** A writer or a mover of the run. */
import type { Driver, EntityId } from '@looseleaf/core'
import { interceptShard, type ShardCatalog } from '@looseleaf/core/internal'
import { moveBuckets } from '@looseleaf/mover/internal'
import type { DataStore } from '@looseleaf/store'
import { fastTime } from '@looseleaf-tooling/kit/times'
import { runAsChild, type Child } from '../lab/child.ts'
import { openStore } from '../lab/open-store.ts'
import {
  handOverIndexes,
  LEASE_MS,
  SPEED,
  type Death,
  type HandOverConfig,
  type HandOverRecord,
} from './records.ts'

type Worker = Child<HandOverConfig, HandOverRecord>

/** Half of the buckets of the first shard. */
const BUCKETS = '0-1023'
const GROUPS = 4
/** States of one writer at most. */
const STATES = 1_000_000

async function run(worker: Worker): Promise<void> {
  const { role, urls, death, from, to } = worker.config
  await using store = await openStore([...urls], {
    indexes: handOverIndexes,
    time: fastTime(SPEED),
    change: (driver) => (death === undefined ? driver : dying(driver, from, death)),
  })
  worker.ready()
  if (role === 'write') await write(worker, store)
  else if (role === 'move')
    await moveBuckets(store, { from, to, buckets: BUCKETS }, { groups: GROUPS, leaseMs: LEASE_MS })
  else {
    const { problems } = await store.shards.repair({ leaseMs: LEASE_MS })
    for (const message of problems) worker.recorder.write({ kind: 'wrong', message })
  }
}

/** Kills this process after it has handed a group over. */
function dying(driver: Driver, from: number, { group, delayMs }: Death): Driver {
  let groups = 0
  const source = interceptShard(driver.shards[from]!, async ({ table, operation, args: [catalog] }, call) => {
    const answer = await call()
    if (table !== 'catalog' || operation !== 'change') return answer
    const { leaving, away = [] } = (catalog as ShardCatalog).serves ?? {}
    const isHandOver = away.length > groups && leaving?.every(({ sealed }) => sealed === undefined) !== false
    if (!isHandOver || answer === false) return answer
    groups = away.length
    if (groups < group) return answer
    if (delayMs > 0) setTimeout(() => process.kill(process.pid, 'SIGKILL'), delayMs)
    else process.kill(process.pid, 'SIGKILL')
    return answer
  })
  return { ...driver, shards: driver.shards.with(from, source) }
}

async function write(worker: Worker, store: DataStore): Promise<void> {
  const { config, recorder } = worker
  let state = config.turn * STATES
  await Promise.all(
    config.ids.map(async (ids) => {
      for (let n = 0; !worker.isStopping; n++) {
        const id = ids[n % ids.length] as EntityId
        const next = ++state
        recorder.write({ kind: 'begun', id, state: next })
        await store.put({ name: id, group: `group ${next % 7}`, state: next }, { id })
        recorder.write({ kind: 'acknowledged', id, state: next })
      }
    }),
  )
}

runAsChild<HandOverConfig, HandOverRecord>(
  run,
  ({ kind }) => kind === 'acknowledged',
  (error) => ({ kind: 'wrong', message: `A process ended with ${String(error)}` }),
)
