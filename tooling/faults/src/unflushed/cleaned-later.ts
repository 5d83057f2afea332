import { sweep } from '@looseleaf/cleaner'
import { isLooseleafError, type DriverFactory } from '@looseleaf/core'
import { ACT_MS, type Experiment } from './experiment.ts'
import { HANGING, holdsWithin, insist, PATIENT_MS, SOUND } from './ground.ts'
import { leaveNewVersion } from './leave-behind.ts'

/** In which a server is back, as a rule. */
const QUERY_TIME_MS = 4_000

/** The entity on the shard that dies, its rows on the other one. */
export const cleanedLater: Experiment = {
  name: 'a cleaner that waits for queries',
  what: 'a cleaner reads a commit of somebody else, who is still waiting for the log, and keeps the row of the version before it for queries; when it deletes that, the server has died and come back',
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
        // A binary log shows it nothing.
        if (seen !== undefined) await holdsWithin(ACT_MS, () => hasRead)
      },
      async judge() {
        await cleaning
        const standing = await ground.entity(HANGING, id)
        const wrongs: string[] = []
        if (standing !== undefined && (await ground.stamp(standing.group, id)) === undefined)
          wrongs.push(
            'the row of what is committed is missing: a cleaner deleted it for a commit that it had read before a crash',
          )
        return {
          wasSeen: seen !== undefined,
          wasLost: seen !== undefined && standing?.version !== seen,
          wrongs,
        }
      },
    }
  },
}

/** Tells the versions of entities that are read from the shard whose log hangs. */
function noticingReads(notice: (versions: readonly number[]) => void) {
  return (factory: DriverFactory): DriverFactory => ({
    shardCount: factory.shardCount,
    async connect() {
      const driver = await factory.connect()
      const shards = driver.shards.map((shard, number) => {
        if (number !== HANGING) return shard
        const { entities } = shard
        const read: typeof entities.read = async (ids, options) => {
          const rows = await entities.read(ids, options)
          notice(rows.flatMap((row) => (row === undefined ? [] : [row.version])))
          return rows
        }
        return { ...shard, entities: { ...entities, read } }
      })
      return { shards, close: () => driver.close() }
    },
  })
}
