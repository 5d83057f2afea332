import type { Driver } from '@looseleaf/core'
import { changed } from '@looseleaf-tooling/kit/changed-driver'
import { ACT_MS, type Experiment } from './experiment.ts'
import { HANGING, holdsWithin, insist, PATIENT_MS, SOUND } from './ground.ts'
import { judgeNewVersion, leaveNewVersion } from './leave-behind.ts'

/** Time for a follower to receive every change of a restarted server. */
const CAUGHT_UP_MS = 10_000
/** Short enough for the follower to flush the floor once before the log hangs. */
const POLL_MS = 100

/**
 * Two entities on the shard that dies: one is replaced while a page with both is read, and the other moves
 * the cursor past it.
 */
export const followed: Experiment = {
  name: 'a follower of changes',
  what: 'a follower reads a page without an entity, because it sees a replacement that is not on disk, and moves its cursor past the state that the crash restores',
  async prepare(ground) {
    const writer = await ground.open({ deadlineMs: PATIENT_MS })
    const gate = Promise.withResolvers<void>()
    const atPage = Promise.withResolvers<void>()
    const reading = await ground.open({
      wrap: holdingPages(async () => {
        atPage.resolve()
        await gate.promise
      }),
    })
    const id = ground.idOn(HANGING)
    const other = ground.idOn(HANGING)
    const [before, after] = [ground.groupOn(SOUND), ground.groupOn(SOUND)]
    const { version: first } = await insist(() => writer.put({ group: before }, { id }))
    await insist(() => writer.put({ group: before }, { id: other }))
    const given = new Map<string, number>()
    const ended = new AbortController()
    const following = (async () => {
      const options = { from: 'beginning', pollMs: POLL_MS, signal: ended.signal } as const
      for await (const change of reading.changes(options)) given.set(change.id, change.version)
    })()
    await atPage.promise
    let seen: number | undefined

    return {
      async act() {
        seen = await leaveNewVersion(ground, writer, { id, group: after, first })
        gate.resolve()
        await holdsWithin(ACT_MS, () => given.has(other))
      },
      async judge() {
        const verdict = await judgeNewVersion(ground, id, seen, 'it was replaced by what no disk had')
        const isGiven = await holdsWithin(
          CAUGHT_UP_MS,
          () => given.get(id) === verdict.version && given.has(other),
        )
        ended.abort()
        await following
        const missed = 'a follower was never given the state of an entity that came back with a crash'
        return { ...verdict, wrongs: [...verdict.wrongs, ...(isGiven ? [] : [missed])] }
      },
    }
  },
}

/** Delays pages of changes of the shard whose log hangs. */
function holdingPages(wait: () => Promise<void>) {
  return (driver: Driver): Driver =>
    changed(driver, {
      entities: (entities, shard) => ({
        async pageOfChanges(...args: Parameters<typeof entities.pageOfChanges>) {
          if (shard === HANGING) await wait()
          return entities.pageOfChanges(...args)
        },
      }),
    })
}
