import { isLooseleafError, LooseleafError, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import { cleanIndex } from '../src/index.ts'
import { byUser, shared } from './stores.ts'

const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
const LINKS = ['a', 'b', 'c', 'd', 'e', 'f']
/** Moments in the life of a process. In the first half the shard does not answer. */
const LIFE = 4

/** A process that started while a shard did not answer. */
interface Late {
  readonly store: DataStore
  readonly down: Set<number>
  momentsLeft: number
}

async function startWithout(memory: Driver, silent: number): Promise<Late> {
  const down = new Set([silent])
  const driver = faultyDriver(memory, ({ shard }) =>
    down.has(shard)
      ? {
          before() {
            throw new LooseleafError('SHARD_UNAVAILABLE', `Shard ${shard} is away.`)
          },
        }
      : undefined,
  )
  const store = await DataStore.open({ shards: shared(driver), onWarning: () => undefined })
  return { store, down, momentsLeft: LIFE }
}

/** Errors that are acceptable while the index is added and dropped, and a shard may not answer. */
const EXCUSES = ['SHARD_UNAVAILABLE', 'INDEX_NOT_READY', 'INDEX_NOT_FOUND']

test("a process that starts without one shard, at any moment of an index's life, writes all rows and answers correctly", async () => {
  const memory = await memoryShards(2).connect()
  const first = await DataStore.open({ shards: shared(memory), indexes: [byUser], migrate: true })
  /** The link of every acknowledged write. */
  const written = new Map<EntityId, string>()
  for (const link of LINKS) written.set((await first.put({ link })).id, link)
  let lates: Late[] = []
  let moments = 0
  let answers = 0
  let refused = 0

  async function use({ store }: Late): Promise<void> {
    for (const link of [LINKS[moments % LINKS.length]!, LINKS[(moments + 3) % LINKS.length]!]) {
      try {
        written.set((await store.put({ link })).id, link)
      } catch (error) {
        if (!isLooseleafError(error, 'SHARD_UNAVAILABLE')) throw error
        refused++
      }
    }
    for (const link of LINKS) {
      try {
        const expected = [...written].filter(([, value]) => value === link)
        const found = new Set((await store.getAll(byLink, { link })).map(({ id }) => id))
        expect(expected.filter(([id]) => !found.has(id))).toEqual([])
        answers++
      } catch (error) {
        if (!isLooseleafError(error) || !EXCUSES.includes(error.code)) throw error
      }
    }
  }

  async function look(): Promise<void> {
    moments++
    for (const late of lates) {
      if (--late.momentsLeft < LIFE / 2) late.down.clear()
      await use(late)
    }
    lates = lates.filter(({ momentsLeft }) => momentsLeft > 0)
    for (const silent of [0, 1]) {
      const late = await startWithout(memory, silent)
      await use(late)
      lates.push(late)
    }
  }

  // This process changes the catalog and the tables, and fills the index.
  const driver = faultyDriver(memory, ({ table, operation }) =>
    operation === 'change' ||
    operation === 'upsert' ||
    (table === 'shard' && operation.endsWith('IndexTable'))
      ? { before: look, after: look }
      : undefined,
  )
  const administrator = await DataStore.open({ shards: shared(driver) })
  await administrator.addIndex(byLink)
  await cleanIndex(administrator, 'by_link')
  await administrator.dropIndex(byLink)
  await administrator.addIndex(byLink)
  await cleanIndex(administrator, 'by_link')

  expect(moments).toBeGreaterThan(40)
  expect(answers).toBeGreaterThan(50)
  expect(refused).toBeGreaterThan(20)
  for (const link of LINKS) {
    const found = (await first.getAll(byLink, { link })).map(({ id }) => id)
    expect(found.toSorted()).toEqual([...written.keys()].filter((id) => written.get(id) === link).toSorted())
  }
  expect(await cleanIndex(administrator, 'by_link')).toMatchObject({ added: 0 })
})
