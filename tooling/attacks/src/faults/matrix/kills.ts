import { setTimeout as sleep } from 'node:timers/promises'
import { sweep } from '@looseleaf/cleaner'
import type { DataStore } from '@looseleaf/store'
import { openStore } from '../../lab/open-store.ts'
import type { Random } from '@looseleaf-tooling/kit/random'
import type { Shard } from '../../lab/shard.ts'
import { stopPoints } from '../load/stopping-driver.ts'
import type { Scenario, Stage } from './scenario.ts'

export const killServers: Scenario = {
  name: 'kill -9 of servers',
  what: 'mariadbd is killed under load and restarted on its data, sometimes on both shards at once',
  unit: 'kills',
  full: 50,
  short: 1,
  serversCrash: true,
  needsErrors: ['SHARD_UNAVAILABLE'],
  async run({ cluster, random, amount }) {
    let kills = 0
    while (kills < amount) {
      const both = amount - kills > 1 && random.chance(0.2)
      const victims = both ? cluster.shards : [random.pick(cluster.shards)]
      await Promise.all(victims.map((shard) => killServer(shard, random)))
      kills += victims.length
      await sleep(300 + random.below(700))
    }
    return { kills }
  },
}

export const killWriters: Scenario = {
  name: 'kill -9 of writers',
  what: 'processes are killed at any point, and new ones start',
  unit: 'kills',
  full: 300,
  short: 2,
  processes: 2,
  async run(stage) {
    let kills = 0
    const oneAfterTheOther = async (): Promise<void> => {
      while (kills < stage.amount) {
        kills++
        await killWriter(stage)
      }
    }
    await Promise.all([oneAfterTheOther(), oneAfterTheOther()])
    return { kills }
  },
}

/** Longer than anything that delays a commit, so that rows stay long enough to be checked. */
const DELETE_DELAY_MS = 6_000

export const killWithDeleteDelay: Scenario = {
  name: 'kill -9 with deleteDelayMs',
  what: 'with a deleteDelayMs of 6 seconds, servers and writers are killed in turn; the rows of a replaced state must stay for that time, except those of exact indexes',
  unit: 'kills',
  full: 60,
  processes: 2,
  serversCrash: true,
  config: { writing: { deleteDelayMs: DELETE_DELAY_MS } },
  async run(stage) {
    let kills = 0
    while (kills < stage.amount) {
      if (kills % 3 === 0) await killServer(stage.random.pick(stage.cluster.shards), stage.random)
      else await killWriter(stage)
      kills++
      await sleep(200 + stage.random.below(500))
    }
    return { kills }
  },
}

async function killServer(shard: Shard, random: Random): Promise<void> {
  await shard.kill()
  await sleep(random.below(300))
  await shard.restart()
}

/** Starts one more process and ends it at a random point of its work. */
async function killWriter({ load, random }: Pick<Stage, 'load' | 'random'>): Promise<void> {
  const victim = load.start()
  await victim.ready
  await sleep(random.below(250))
  victim.signal('SIGKILL')
  await victim.gone
}

/** Some stops exceed the deadline of the load's statements, others stay within it. */
const LONGEST_STOP_MS = 1_400

export const stopWriters: Scenario = {
  name: 'SIGSTOP of writers',
  what: 'a writer stops between two steps, while others write the same entities and a cleaner without grace sweeps; then it continues',
  unit: 'stops',
  full: 100,
  short: 2,
  processes: 2,
  // With so few entities, other writers replace and delete whatever the stopped process was about to write.
  entities: { hot: 2, cold: 1 },
  // Sweeps keep replaced rows for this long.
  config: { writing: { queryTimeMs: 300 } },
  async run({ load, database, random, amount }) {
    const store = await openStore(database.adminUrls())
    let stops = 0
    let sweeps = 0
    let fenced = 0
    let writesMeanwhile = 0
    try {
      while (stops < amount) {
        const stopAt = stopPoints[stops % stopPoints.length]
        const victim = load.start({ stopAt, clients: 1, restMs: 0 })
        await Promise.race([victim.stopped, victim.gone])
        stops++
        const before = await versions(store)
        const until = performance.now() + random.below(LONGEST_STOP_MS)
        do {
          const tally = await sweep(store, { graceMs: 0 })
          fenced += tally.fenced
          sweeps++
          await sleep(20)
        } while (performance.now() < until)
        const after = await versions(store)
        writesMeanwhile += [...after].filter(([id, version]) => before.get(id) !== version).length
        victim.signal('SIGCONT')
        await sleep(random.below(150))
        victim.stop()
        await victim.gone
      }
    } finally {
      await store.close()
    }
    return { stops, sweeps, fenced, 'entities written during a stop': writesMeanwhile }
  },
}

async function versions(store: DataStore): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (const shard of store.context.driver.shards)
    for (const { id, version } of await shard.entities.pageByAdded(0, 100))
      found.set(Buffer.from(id).toString('hex'), version)
  return found
}
