import { isLooseleafError } from '@looseleaf/core'
import { ACT_MS, type Experiment } from './experiment.ts'
import { HANGING, holdsWithin, insist, SOUND } from './ground.ts'
import { judgeNewVersion } from './leave-behind.ts'

/** The entity is on the shard that dies, its rows are on the other one. */
export const readBack: Experiment = {
  name: 'a put that is read back',
  what: 'the commit of a put misses its deadline, is read back on another connection and acknowledged; its lost row is deleted',
  async prepare(ground) {
    const store = await ground.open()
    const id = ground.idOn(HANGING)
    const [before, after] = [ground.groupOn(SOUND), ground.groupOn(SOUND)]
    const { version: first } = await insist(() => store.put({ group: before }, { id }))
    let seen: number | undefined
    let acknowledged: number | undefined

    async function put(): Promise<void> {
      try {
        acknowledged = (await store.put({ group: after }, { id })).version
        await store.settled()
      } catch (error) {
        if (!isLooseleafError(error)) throw error
      }
    }

    return {
      async act() {
        const putting = put()
        await holdsWithin(ACT_MS, async () => {
          const standing = await ground.entity(HANGING, id)
          if (standing !== undefined && standing.version !== first) seen = standing.version
          return seen !== undefined
        })
        await putting
      },
      async judge() {
        const why = 'it was deleted after a commit that no disk had'
        const { version, wrongs, ...verdict } = await judgeNewVersion(ground, id, seen, why)
        const lost = 'a put that was acknowledged is lost: it was read back from a commit that no disk had'
        const isLost = acknowledged !== undefined && version !== acknowledged
        return { ...verdict, wrongs: [...(isLost ? [lost] : []), ...wrongs] }
      },
    }
  },
}
