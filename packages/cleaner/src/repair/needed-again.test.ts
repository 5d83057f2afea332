import { LooseleafError, parseId } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { beforeEach, expect, it } from 'vitest'
import { byTag, byUser, entryOf, openStore, rowFor } from '../../test/stores.ts'
import { indexTarget } from '../pass/index-target.ts'
import { neededAgain } from './needed-again.ts'

let store: DataStore

beforeEach(async () => {
  store = await openStore({ shards: 2, indexes: [byUser, byTag] })
})

/** Tells whether this row of an entity is needed, on its own shard or with `elsewhere` on the other one. */
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

/** Returns a context whose codec fails. */
function failing(error: Error): { context: EngineContext } {
  const decode = (): never => {
    throw error
  }
  return { context: { ...store.context, bodies: { ...store.context.bodies, decode } } }
}

it('a row that its entity has is needed, on its own shard only', async () => {
  const { id } = await store.put({ tags: ['x', 'y', 'z'], user_id: 'ada', published: 1 })
  expect(await isNeeded('by_tag', id, { tags: ['y'] })).toBe(true)
  expect(await isNeeded('by_tag', id, { tags: ['other'] })).toBe(false)
  expect(await isNeeded('by_tag', id, { tags: ['y'] }, { elsewhere: true })).toBe(false)
  expect(await isNeeded('by_user', id, { user_id: 'ada', published: 1 })).toBe(true)
  expect(await isNeeded('by_user', id, { user_id: 'ada', published: 2 })).toBe(false)
})

it('no row of a deleted or unknown entity is needed', async () => {
  const { id } = await store.put({ tags: ['x'] })
  await store.delete(id)
  expect(await isNeeded('by_tag', id, { tags: ['x'] })).toBe(false)
  expect(await isNeeded('by_tag', store.newId(), { tags: ['x'] })).toBe(false)
})

it('a row counts as needed if the body cannot be decoded', async () => {
  const { id } = await store.put({ tags: ['x'] })
  const damaged = failing(new LooseleafError('BODY_DAMAGED', 'Damaged.'))
  expect(await isNeeded('by_tag', id, { tags: ['other'] }, damaged)).toBe(true)
})

it('a row counts as needed if the entity has an invalid version', async () => {
  const id = store.newId()
  const { driver, router, catalog, codec } = store.context
  const number = router.shardOfId(parseId(id))
  await driver.shards[number]!.entities.insert(
    [{ id: parseId(id), version: 0, body: codec.encode({ tags: ['x'] }) }],
    { epoch: catalog.current().epochs[number]! },
  )
  expect(await isNeeded('by_tag', id, { tags: ['other'] })).toBe(true)
})

it('a shard that cannot be asked for codec entries fails the look, and no row counts as needed', async () => {
  const { id } = await store.put({ tags: ['x'] })
  const silent = failing(new LooseleafError('SHARD_UNAVAILABLE', 'down'))
  await expect(isNeeded('by_tag', id, { tags: ['other'] }, silent)).rejects.toThrow('down')
})

it('any other error is thrown', async () => {
  const { id } = await store.put({ tags: ['x'] })
  const bug = failing(new TypeError('a bug'))
  await expect(isNeeded('by_tag', id, { tags: ['other'] }, bug)).rejects.toThrow('a bug')
})
