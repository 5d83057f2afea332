import { drainPending } from '@looseleaf/cleaner'
import { isLooseleafError, type DriverFactory } from '@looseleaf/core'
import { createRandom } from '@looseleaf-tooling/random'
import { withRefusals } from '../load/refusing-driver.ts'
import { ACT_MS, type Experiment } from './experiment.ts'
import { HANGING, holdsWithin, insist, SOUND } from './ground.ts'

const refusingAll = (shards: DriverFactory): DriverFactory => ({
  shardCount: shards.shardCount,
  connect: async () => withRefusals(await shards.connect(), 1, createRandom(1)),
})

/** The row on the shard that dies, its entity and the note on the other one. */
export const deferred: Experiment = {
  name: 'a deferred row',
  what: 'a row was deferred, and noted with its entity; a cleaner writes it, waits for the log in vain, tries again, which changes nothing, and takes the note away',
  making: { onIndexFailure: 'defer' },
  async prepare(ground) {
    const store = await ground.open({ wrap: refusingAll })
    const cleaner = await ground.open()
    const id = ground.idOn(SOUND)
    const group = ground.groupOn(HANGING)
    const { indexed } = await insist(() => store.put({ group }, { id }))
    if (indexed) throw new Error('Nothing was deferred.')
    let seen: number | undefined

    return {
      async act() {
        await holdsWithin(ACT_MS, async () => {
          await drainPending(cleaner, { graceMs: 0 }).catch((error: unknown) => {
            if (!isLooseleafError(error)) throw error
          })
          seen ??= await ground.stamp(group, id)
          return !(await ground.isPending(SOUND, id))
        })
      },
      async judge() {
        const stamp = await ground.stamp(group, id)
        const isPending = await ground.isPending(SOUND, id)
        const wrongs: string[] = []
        if (stamp === undefined && !isPending)
          wrongs.push('a deferred row is missing, and its note was taken away when no disk had it')
        return { wasSeen: seen !== undefined, wasLost: seen !== undefined && stamp === undefined, wrongs }
      },
    }
  },
}
