import { LooseleafError, parseId } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import { beforeEach, expect, it } from 'vitest'
import { byTag, byUser, entryOf, openStore, rowFor } from '../../test/stores.ts'
import { indexTarget } from '../pass/index-target.ts'
import { neededAgain } from './needed-again.ts'

let store: DataStore

beforeEach(async () => {
  store = await openStore({ shards: 2, indexes: [byUser, byTag] })
})

/** Whether this row, of this entity, is needed: on the shard that it belongs on, or on the other. */
async function isNeeded(
  index: string,
  id: string,
  bag: Parameters<typeof rowFor>[3],
  { elsewhere = false, context = store.context as EngineContext } = {},
): Promise<boolean> {
  const { shard, row } = rowFor(store, index, id, bag, 1)
  const target = indexTarget(store.context, entryOf(store, index))
  const lost = { target, row, shard: elsewhere ? 1 - shard : shard }
  const needed = await neededAgain(context, [lost], undefined)
  expect([...needed.keys()]).toEqual(needed.size === 0 ? [] : [lost])
  return needed.size === 1
}

/** The context with a codec that fails. */
function failing(error: Error): { context: EngineContext } {
  const decode = (): never => {
    throw error
  }
  return { context: { ...store.context, codec: { ...store.context.codec, decode } } }
}

it('a row is needed that its entity has, beside others, on that shard and on no other', async () => {
  const { id } = await store.put({ tags: ['x', 'y', 'z'], user_id: 'ada', published: 1 })
  expect(await isNeeded('by_tag', id, { tags: ['y'] })).toBe(true)
  expect(await isNeeded('by_tag', id, { tags: ['other'] })).toBe(false)
  expect(await isNeeded('by_tag', id, { tags: ['y'] }, { elsewhere: true })).toBe(false)
  expect(await isNeeded('by_user', id, { user_id: 'ada', published: 1 })).toBe(true)
  expect(await isNeeded('by_user', id, { user_id: 'ada', published: 2 })).toBe(false)
})

it('none is needed of an entity that was deleted, or never was', async () => {
  const { id } = await store.put({ tags: ['x'] })
  await store.delete(id)
  expect(await isNeeded('by_tag', id, { tags: ['x'] })).toBe(false)
  expect(await isNeeded('by_tag', store.newId(), { tags: ['x'] })).toBe(false)
})

it('one may be needed of which the body cannot be read', async () => {
  const { id } = await store.put({ tags: ['x'] })
  const damaged = failing(new LooseleafError('BODY_DAMAGED', 'Damaged.'))
  expect(await isNeeded('by_tag', id, { tags: ['other'] }, damaged)).toBe(true)
})

it('one may be needed of an entity with a version that no write has given', async () => {
  const id = store.newId()
  const { driver, router, catalog, codec } = store.context
  const number = router.shardOfId(parseId(id))
  await driver.shards[number]!.entities.insert(
    [{ id: parseId(id), version: 0, body: codec.encode({ tags: ['x'] }) }],
    { epoch: catalog.current().epochs[number]! },
  )
  expect(await isNeeded('by_tag', id, { tags: ['other'] })).toBe(true)
})

it('any other error is told', async () => {
  const { id } = await store.put({ tags: ['x'] })
  const bug = failing(new TypeError('a bug'))
  await expect(isNeeded('by_tag', id, { tags: ['other'] }, bug)).rejects.toThrow('a bug')
})
