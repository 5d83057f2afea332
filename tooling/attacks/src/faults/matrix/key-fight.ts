import { setTimeout as sleep } from 'node:timers/promises'
import { runFight } from '../keys/run-fight.ts'
import type { Scenario, Stage } from './scenario.ts'
import { killConnections } from './server-faults.ts'

/** A short form, and one with guards off, are in `keys/fight.int.test.ts`. */
export const manyForOneKey: Scenario = {
  name: 'many for one key',
  what: 'under the load, eight processes take, give up and take over 50 keys of a unique index for 200 entities, while processes are killed and stopped, connections are killed and commits are delayed',
  unit: 'seconds',
  full: 600,
  processes: 1,
  needs: ['keys that went to another', 'refused', 'kills', 'stops', 'connections killed'],
  async run(stage) {
    const { cluster, random, amount } = stage
    // A database of its own: the checkers of the load do not know these entities.
    const database = await cluster.createDatabase()
    const isOver = { value: false }
    const killing = killNowAndThen(stage, isOver)
    try {
      const { counts, wrongs, kills, stops, looks } = await runFight({
        urls: database.urls,
        adminUrls: database.adminUrls,
        seed: random.below(1_000_000),
        processes: 8,
        entities: 200,
        keys: 50,
        seconds: amount,
      })
      for (const each of wrongs) stage.wrong(each)
      const { changes, refused, acknowledged } = counts
      const killed = await end(killing, isOver)
      return {
        seconds: amount,
        'keys that went to another': changes,
        refused,
        acknowledged,
        kills,
        stops,
        'connections killed': killed,
        looks,
      }
    } finally {
      await end(killing, isOver)
      await database.drop()
    }
  },
}

function end(killing: Promise<number>, isOver: { value: boolean }): Promise<number> {
  isOver.value = true
  return killing
}

async function killNowAndThen(
  { cluster, random }: Stage,
  isOver: { readonly value: boolean },
): Promise<number> {
  let killed = 0
  while (!isOver.value) {
    killed += await killConnections(random.pick(cluster.shards), () => random.chance(0.1))
    await sleep(200)
  }
  return killed
}
