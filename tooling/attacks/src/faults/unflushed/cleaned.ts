import { sweep } from '@looseleaf/cleaner'
import { isLooseleafError } from '@looseleaf/core'
import { ACT_MS, type Experiment } from './experiment.ts'
import { HANGING, holdsWithin, insist, PATIENT_MS, SOUND } from './ground.ts'
import { judgeNewVersion, leaveNewVersion } from './leave-behind.ts'

/** The entity is on the shard that dies, its rows are on the other one. */
export const cleaned: Experiment = {
  name: 'a cleaner',
  what: 'a cleaner reads a commit whose writer is still waiting for the log, and deletes the row of the former version on another shard',
  async prepare(ground) {
    const writer = await ground.open({ deadlineMs: PATIENT_MS })
    const cleaner = await ground.open()
    const id = ground.idOn(HANGING)
    const [before, after] = [ground.groupOn(SOUND), ground.groupOn(SOUND)]
    const { version: first } = await insist(() => writer.put({ group: before }, { id }))
    let seen: number | undefined

    return {
      async act() {
        seen = await leaveNewVersion(ground, writer, { id, group: after, first })
        await holdsWithin(ACT_MS, async () => {
          await sweep(cleaner).catch((error: unknown) => {
            if (!isLooseleafError(error)) throw error
          })
          return (await ground.stamp(before, id)) === undefined
        })
      },
      judge: () => judgeNewVersion(ground, id, seen, 'a cleaner deleted it for a commit that no disk had'),
    }
  },
}
