import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isLooseleafError } from '@looseleaf/core'
import { rangesInclude } from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'
import { createCrew, type Crew, type Job } from '../../growth/crew.ts'
import { openStore } from '../../lab/open-store.ts'
import type { Scenario, Stage } from './scenario.ts'

/** Half of the buckets of shard 0. */
const BUCKETS = '0-1023'
const LEASE_MS = 3_000
/** More than a lease, so that another mover takes over meanwhile. */
const STOP_MS = LEASE_MS + 1_000
/** Faults per move; then it has to end. A mover that is killed again and again while it starts gets nowhere. */
const FAULTS = 5
/** A move that takes longer counts as stuck. */
const STUCK_MS = 300_000

const faults = ['kills of movers', 'stops of movers', 'kills of servers'] as const

export const movesOfBuckets: Scenario = {
  name: 'moves of buckets',
  what: 'buckets move to the other shard and back, while the process that moves them is killed or stopped, and source and target are killed',
  unit: 'moves',
  full: 12,
  processes: 2,
  serversCrash: true,
  bucketsMove: true,
  config: { writing: { queryTimeMs: 1_000 } },
  needs: ['moves', ...faults],
  async run(stage) {
    const folder = await mkdtemp(join(tmpdir(), 'looseleaf-moves-'))
    const { urls } = stage.database
    const crew = await createCrew(folder, {
      role: 'repair',
      urls,
      seed: 1,
      entities: 0,
      writers: 0,
      hot: 0,
      clients: 0,
      restMs: 0,
      part: 0,
      earlier: [],
      leaseMs: LEASE_MS,
      speed: 1,
    })
    const store = await openStore(urls)
    const facts: Record<string, number> = {
      moves: 0,
      ...Object.fromEntries(faults.map((fault) => [fault, 0])),
    }
    try {
      for (let moves = 0; moves < stage.amount; moves++) {
        const plan =
          moves % 2 === 0 ? { from: 0, to: 1, buckets: BUCKETS } : { from: 1, to: 0, buckets: BUCKETS }
        const stateNow = (): Promise<MoveState> => stateOf(store, plan.to)
        await moveUnderFaults(stage, crew, { role: 'move', plan }, stateNow, facts)
        facts['moves']!++
      }
    } finally {
      await crew.kill()
      await store.close()
      await rm(folder, { recursive: true, force: true })
    }
    return facts
  },
}

type MoveState = 'not announced' | 'under way' | 'over' | 'unknown'

/** Returns the state of the move of the buckets to a shard; unknown while a server is down. */
async function stateOf(store: DataStore, to: number): Promise<MoveState> {
  try {
    const open = await store.shards.moves()
    if (open.length > 0) return 'under way'
    const { layout } = await store.context.catalog.reload()
    return rangesInclude(layout?.shards[to]?.buckets ?? '', BUCKETS) ? 'over' : 'not announced'
  } catch (error) {
    if (!isLooseleafError(error) || !error.retryable) throw error
    return 'unknown'
  }
}

/** Causes faults during a move, waits until it is over, and starts a mover whenever none is left. */
async function moveUnderFaults(
  { cluster, random, wrong }: Stage,
  crew: Crew,
  job: Job,
  stateNow: () => Promise<MoveState>,
  facts: Record<string, number>,
): Promise<void> {
  const until = performance.now() + STUCK_MS
  const first = random.below(faults.length)
  for (let caused = 0; performance.now() < until;) {
    const state = await stateNow()
    if (state === 'over') return
    const [mover] = crew.movers()
    if (mover === undefined) {
      if (state !== 'unknown') await crew.move(state === 'under way' ? { role: 'repair' } : job)
      continue
    }
    await sleep(random.below(4_000))
    if (caused === FAULTS) continue
    const fault = faults[(first + caused) % faults.length]!
    if (fault === 'kills of servers') {
      const shard = random.pick(cluster.shards)
      await shard.kill()
      await shard.restart()
    } else if (mover.process.isGone) continue
    else if (fault === 'kills of movers') await crew.replace(mover)
    else {
      mover.process.signal('SIGSTOP')
      await crew.move({ role: 'repair' })
      await sleep(STOP_MS)
      mover.process.signal('SIGCONT')
    }
    facts[fault] = (facts[fault] ?? 0) + 1
    caused++
  }
  wrong(`A move did not end within ${STUCK_MS} ms.`)
}
