import { drainPending } from '@looseleaf/cleaner/internal'
import { isLooseleafError } from '@looseleaf/core'
import { createRandom } from '@looseleaf-tooling/kit/random'
import { withRefusals } from '../load/disturbed-driver.ts'
import { ACT_MS, type Experiment } from './experiment.ts'
import { HANGING, holdsWithin, insist, SOUND } from './ground.ts'

/** The row is on the shard that dies, its entity and the note are on the other one. */
export const deferred: Experiment = {
  name: 'a deferred row',
  what: 'a row was deferred and noted as pending; a cleaner writes it, waits for the log in vain, retries without changing anything, and removes the pending row',
  making: { onIndexFailure: 'defer' },
  async prepare(ground) {
    const store = await ground.open({ wrap: (driver) => withRefusals(driver, 1, createRandom(1)) })
    const cleaner = await ground.open()
    const id = ground.idOn(SOUND)
    const group = ground.groupOn(HANGING)
    const { indexed } = await insist(() => store.put({ group }, { id }))
    if (indexed) throw new Error('No row was deferred.')
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
