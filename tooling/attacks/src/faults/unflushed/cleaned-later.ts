import { sweep } from '@looseleaf/cleaner'
import { isLooseleafError, type Driver } from '@looseleaf/core'
import { changed } from '@looseleaf-tooling/kit/changed-driver'
import { ACT_MS, type Experiment } from './experiment.ts'
import { HANGING, holdsWithin, insist, PATIENT_MS, SOUND } from './ground.ts'
import { judgeNewVersion, leaveNewVersion } from './leave-behind.ts'

/** Longer than a server usually needs to come back. */
const QUERY_TIME_MS = 4_000

/** The entity is on the shard that dies, its rows are on the other one. */
export const cleanedLater: Experiment = {
  name: 'a cleaner that waits for queries',
  what: 'a cleaner reads a commit whose writer is still waiting for the log, and keeps the row of the former version for queries; the server restarts before the cleaner deletes the row',
  making: { queryTimeMs: QUERY_TIME_MS },
  async prepare(ground) {
    let seen: number | undefined
    let hasRead = false
    const writer = await ground.open({ deadlineMs: PATIENT_MS })
    const cleaner = await ground.open({
      wrap: noticingReads((versions) => (hasRead ||= seen !== undefined && versions.includes(seen))),
    })
    const id = ground.idOn(HANGING)
    const [before, after] = [ground.groupOn(SOUND), ground.groupOn(SOUND)]
    const { version: first } = await insist(() => writer.put({ group: before }, { id }))
    let cleaning: Promise<unknown> = Promise.resolve()

    return {
      async act() {
        seen = await leaveNewVersion(ground, writer, { id, group: after, first })
        cleaning = sweep(cleaner).catch((error: unknown) => {
          if (!isLooseleafError(error)) throw error
        })
        // With a binary log the cleaner never sees the commit.
        if (seen !== undefined) await holdsWithin(ACT_MS, () => hasRead)
      },
      async judge() {
        await cleaning
        return judgeNewVersion(
          ground,
          id,
          seen,
          'a cleaner deleted it for a commit that it had read before a crash',
        )
      },
    }
  },
}

/** Reports the versions of entities that are read from the shard whose log hangs. */
function noticingReads(notice: (versions: readonly number[]) => void) {
  return (driver: Driver): Driver =>
    changed(driver, {
      entities: (entities, shard) => ({
        async read(ids, options) {
          const rows = await entities.read(ids, options)
          if (shard === HANGING) notice(rows.flatMap((row) => (row === undefined ? [] : [row.version])))
          return rows
        },
      }),
    })
}
