import { isLooseleafError } from '@looseleaf/core'
import { SEEN_MS, type Experiment } from './experiment.ts'
import { HANGING, holdsWithin, insist, PATIENT_MS, SOUND } from './ground.ts'
import { leaveBehind } from './leave-behind.ts'

const AHEAD_MS = 1_000

/** The row is on the shard that dies, its entity is on the other one. */
export const oneRow: Experiment = {
  name: 'two writers of one row',
  what: 'a writer whose clock is a second ahead waits for the log with a row; a second writer writes the same row without changing it, and commits its entity on another shard',
  async prepare(ground) {
    const ahead = await ground.open({ deadlineMs: PATIENT_MS, clockAheadMs: AHEAD_MS })
    const store = await ground.open()
    const id = ground.idOn(SOUND)
    const [before, after] = [ground.groupOn(SOUND), ground.groupOn(HANGING)]
    await insist(() => store.put({ group: before }, { id }))
    let seen: number | undefined
    let acknowledged: number | undefined

    return {
      async act() {
        await leaveBehind(ahead, { group: after }, id, () =>
          holdsWithin(SEEN_MS, async () => {
            seen = await ground.stamp(after, id)
            return seen !== undefined
          }),
        )
        try {
          acknowledged = (await store.put({ group: after }, { id })).version
        } catch (error) {
          if (!isLooseleafError(error)) throw error
        }
      },
      async judge() {
        const standing = await ground.entity(SOUND, id)
        const stamp = await ground.stamp(after, id)
        const wrongs: string[] = []
        if (acknowledged !== undefined && standing?.version !== acknowledged)
          wrongs.push('a put that was acknowledged is lost')
        if (standing?.group === after && stamp === undefined)
          wrongs.push('the row of what is committed is missing: it was taken for written when no disk had it')
        return { wasSeen: seen !== undefined, wasLost: seen !== undefined && stamp !== seen, wrongs }
      },
    }
  },
}
