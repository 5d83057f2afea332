import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { parseId } from '@looseleaf/core'
import { defineIndex } from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import { byTag, byUser, openStore } from '../../test/stores.ts'
import { emptyTally } from '../pass/tally.ts'
import { cleanIndex, tunedCleanIndex } from './clean-index.ts'
import { partTask } from './part-lease.ts'
import { freshPart, partToText } from './part.ts'
import type { CleanProgress } from './progress.ts'
import { loadRuns } from './run-record.ts'

const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })

/** Replaces the body of an entity by one that no codec can decode. */
async function damage(store: DataStore, id: string, version: number): Promise<void> {
  const { driver, router, catalog } = store.context
  const shard = router.shardOfId(parseId(id))
  const body = Buffer.from('damaged')
  const row = { id: parseId(id), base: version, version: version + 1, body }
  const epoch = catalog.current().epochs[shard]!
  expect(await driver.shards[shard]!.entities.replace([row], { epoch })).toEqual([true])
}

test('without a check, only indexes that are being filled have one', async () => {
  const store = await openStore({ indexes: [byUser], time: leapingTime() })
  await store.put({ user_id: 'ada', published: 1, tags: ['x'] })
  const reportsOf = async (): Promise<CleanProgress[]> => {
    const reports: CleanProgress[] = []
    await cleanIndex(store, undefined, { check: false, onProgress: (report) => void reports.push(report) })
    return reports
  }
  const planned = (reports: readonly CleanProgress[]): boolean =>
    reports.some(({ remainingPhases }) => remainingPhases.includes('check'))
  expect(planned(await reportsOf())).toBe(false)
  await store.addIndex(byTag)
  const reports = await reportsOf()
  expect(planned(reports)).toBe(true)
  for (const { phase, indexes } of reports) if (phase === 'check') expect(indexes).toEqual(['by_tag'])
  expect(reports.map(({ phase }) => phase)).toContain('check')
})

test('the result of an index has only the fields that apply to it', async () => {
  const store = await openStore({ indexes: [], time: leapingTime() })
  await store.addIndex([byUser, byMail])
  await store.pauseIndex('by_mail')
  const { indexes } = await cleanIndex(store)
  const none = { generation: 1, ...emptyTally() }
  expect(indexes).toStrictEqual([
    { index: 'by_user', state: 'ready', ...none },
    { index: 'by_mail', state: 'building', halted: true, ...none },
    { index: 'by_mail', state: 'building', unique: true, halted: true, ...none },
  ])
  await store.resumeIndex('by_mail')
  expect((await cleanIndex(store, 'by_mail')).indexes).toStrictEqual([
    { index: 'by_mail', state: 'ready', ...none },
    { index: 'by_mail', state: 'ready', unique: true, ...none },
  ])
})

test('an index with as many duplicates as undecodable bodies is not complete', async () => {
  const store = await openStore({ indexes: [], time: leapingTime() })
  const [first] = await store.putMany([{ mail: 'eve' }, { mail: 'ada' }, { mail: 'ada' }, { mail: 'ada' }])
  await damage(store, first!.id, first!.version)
  await store.addIndex(byMail)
  expect(await cleanIndex(store)).toMatchObject({
    complete: false,
    indexes: [{ undecodable: 1 }, { undecodable: 1, duplicates: 2, added: 1 }],
  })
})

test('claims stay unready if only an early page of the check has duplicates', async () => {
  const store = await openStore({ shards: 1, indexes: [], time: leapingTime() })
  for (const mail of ['ada', 'ada', 'eve']) await store.put({ mail })
  await store.addIndex(byMail)
  const { indexes } = await tunedCleanIndex(store, 'by_mail', { pageSize: 1 })
  expect(indexes).toMatchObject([{ state: 'ready' }, { state: 'building', duplicates: 1 }])
})

test('a part that a failover has set back is completed beside those of other indexes', async () => {
  const driver = createReferenceDriver({ shards: 2 })
  const writer = await openStore({ driver, time: leapingTime() })
  await writer.putMany(Array.from({ length: 20 }, (_, n) => ({ user_id: 'ada', published: n, tags: ['x'] })))
  const table = 'index_by_user'
  let isBack = false
  const isDone = (texts: unknown): boolean =>
    [...(texts as ReadonlyMap<string, string>).values()].some((text) => text.includes('"stage":"done"'))
  // Shard 0 is done, and shard 1 has both parts to check.
  const faulty = faultyDriver(driver, ({ shard, operation, args }) =>
    shard === 0 && operation === 'saveAll' && !isBack && isDone(args[0])
      ? {
          async after() {
            isBack = true
            const { run } = (await loadRuns(writer.context, [table])).get(table)!
            const { tasks } = driver.shards[1]!
            await tasks.claim(partTask(table), 'failover', 1_000)
            expect(await tasks.save(partTask(table), 'failover', partToText(freshPart(run)), 0)).toBe(true)
          },
        }
      : undefined,
  )
  const store = await openStore({ driver: faulty, time: leapingTime() })
  const { indexes } = await tunedCleanIndex(store, undefined, { shardsAtOnce: 1 })
  expect(isBack).toBe(true)
  expect(indexes).toMatchObject([{ entities: 20 }, { entities: 20 }])
})
