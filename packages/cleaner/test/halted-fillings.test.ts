import { memoryShards } from '@looseleaf/driver-sqlite'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { checkIndex, cleanIndex, type CleanOptions, type CleanProgress } from '../src/index.ts'
import {
  readWorkers,
  startTunedCleaner,
  tunedCleanIndex,
  tunedCleaning,
  type Tuned,
} from '../src/internal.ts'
import { byTag, byUser, entryOf, expectedRows, openStore, rowsIn } from './stores.ts'
import { until } from '@looseleaf-tooling/kit/times'

// Fillings that are halted by pausing them or hiding their index.

const ENTITIES = 300
const OPTIONS: Tuned<CleanOptions> = { settleMs: 1, pollMs: 1, checkpointMs: 0, pageSize: 10 }

let store: DataStore
/** Another process on the same shards. */
let operator: DataStore
/** Number of entity pages read by cleaning. */
let pagesRead: number

beforeEach(async () => {
  const shards = await memoryShards(1).connect()
  pagesRead = 0
  const counting = faultyDriver(shards, ({ operation }) => {
    if (operation === 'pageByAdded') pagesRead++
    return undefined
  })
  store = await openStore({ driver: counting, indexes: [] })
  operator = await openStore({ driver: shards, indexes: [] })
  const bags = Array.from({ length: ENTITIES }, (_, i) => ({
    user_id: `${i % 7}`,
    published: i,
    tags: ['a'],
  }))
  await store.putMany(bags)
})

const halts = [
  ['paused', () => operator.pauseIndex('by_user'), () => operator.resumeIndex('by_user')],
  ['hidden', () => operator.hideIndex('by_user'), () => operator.restoreIndex('by_user')],
] as const

describe.each(halts)('a filling whose index is %s', (_, halt, resume) => {
  it('a halted filling stops in a working process, keeps its progress, and resumes there', async () => {
    await store.addIndex(byUser)
    let isHalted = false
    const first = await tunedCleanIndex(store, 'by_user', {
      ...OPTIONS,
      async onProgress({ done }) {
        if (done < ENTITIES / 3 || isHalted) return
        isHalted = true
        await halt()
      },
    })
    expect(first.indexes).toMatchObject([{ index: 'by_user', state: 'building', halted: true }])
    const { added = 0 } = first.indexes[0] ?? {}
    expect(added).toBeGreaterThanOrEqual(ENTITIES / 3)
    expect(added).toBeLessThan(ENTITIES)
    // No worker keeps the part.
    expect(await readWorkers(store, ['index_by_user'])).toEqual(new Map([['index_by_user', 0]]))
    expect(await tunedCleanIndex(store, undefined, OPTIONS)).toMatchObject({ indexes: [{ halted: true }] })

    await resume()
    const second = await tunedCleanIndex(store, 'by_user', OPTIONS)
    expect(second.indexes).toMatchObject([{ state: 'ready' }])
    // The counts cover the whole run, and no entity was read twice.
    expect(second.indexes).toMatchObject([{ added: ENTITIES }])
    expect(second.indexes[0]).not.toHaveProperty('halted')
    expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
    expect(entryOf(store, 'by_user')).not.toHaveProperty('paused')
  })

  it('a halted filling does not begin, while another index is filled', async () => {
    await store.addIndex([byUser, byTag])
    await halt()
    const { indexes } = await tunedCleanIndex(store, ['by_user', 'by_tag'], OPTIONS)
    expect(indexes).toMatchObject([
      { index: 'by_tag', state: 'ready' },
      { index: 'by_user', state: 'building', halted: true, added: 0 },
    ])
  })

  it('writers still write the index of a halted filling', async () => {
    await store.addIndex(byUser)
    await halt()
    const { id } = await store.put({ user_id: 'x', published: 1 })
    expect((await rowsIn(store, 'by_user')).join()).toContain(id)
  })

  it('a running cleaner leaves a halted filling alone until it is resumed', async () => {
    await store.addIndex(byUser)
    await halt()
    const read = pagesRead
    const cleaner = startTunedCleaner(store, { catalogMs: 5, settleMs: 1, pollMs: 1 })
    try {
      await store.addIndex(byTag)
      await until(() => entryOf(store, 'by_tag').state === 'ready')
      expect(pagesRead).toBeGreaterThan(read)
      expect(entryOf(store, 'by_user').state).toBe('building')
      await resume()
      await until(() => entryOf(store, 'by_user').state === 'ready')
    } finally {
      await cleaner.stop()
    }
    expect(await checkIndex(store, 'by_user')).toMatchObject({ missing: 0, rows: ENTITIES })
  })
})

it('a filling also stops in the phase `dangling`', async () => {
  await store.addIndex(byUser)
  let phase: string | undefined
  const stop: Tuned<CleanOptions> = {
    ...OPTIONS,
    async onProgress(at) {
      if (at.phase !== 'dangling' || phase !== undefined) return
      phase = at.phase
      await operator.pauseIndex('by_user')
    },
  }
  expect(await tunedCleanIndex(store, 'by_user', stop)).toMatchObject({ indexes: [{ halted: true }] })
  expect(phase).toBe('dangling')
  await operator.resumeIndex('by_user')
  expect(await tunedCleanIndex(store, 'by_user', OPTIONS)).toMatchObject({ indexes: [{ state: 'ready' }] })
})

it('a hidden index is still swept', async () => {
  await store.addIndex(byUser)
  await tunedCleanIndex(store, 'by_user', OPTIONS)
  await operator.hideIndex('by_user')
  expect(await tunedCleanIndex(store, 'by_user', OPTIONS)).toMatchObject({
    indexes: [{ state: 'ready', entities: expect.any(Number), added: 0 }],
  })
  expect((await tunedCleanIndex(store, 'by_user', OPTIONS)).indexes[0]).not.toHaveProperty('halted')
})

it('a generation is named by its number, and includes only the claims of its definition', async () => {
  await store.addIndex(byUser)
  await tunedCleanIndex(store, 'by_user', OPTIONS)
  await store.addIndex({ ...byUser, shardOn: 'id' })
  expect(await checkIndex(store, { name: 'by_user', generation: 1 })).toMatchObject({
    generation: 1,
    rows: ENTITIES,
    missing: 0,
  })
  expect(await checkIndex(store, 'by_user')).toMatchObject({ generation: 2, missing: ENTITIES })
  expect(await tunedCleanIndex(store, { name: 'by_user', generation: 1 }, OPTIONS)).toMatchObject({
    indexes: [{ generation: 1 }],
  })
  const reports: CleanProgress[] = []
  for await (const progress of tunedCleaning(store, [{ name: 'by_user', generation: 1 }], OPTIONS))
    reports.push(progress)
  expect(reports.at(-1)).toMatchObject({ phase: 'ready' })
  expect((await store.indexes()).map(({ state }) => state)).toEqual(['ready', 'building'])
  await expect(checkIndex(store, { name: 'by_user', generation: 3 })).rejects.toMatchObject({
    code: 'INDEX_NOT_FOUND',
    message: expect.stringContaining('by_user of generation 3'),
  })
  await expect(cleanIndex(store, { name: 'by_user' } as never)).rejects.toMatchObject({ code: 'BAD_OPTION' })
})
