import { farRouter } from '@looseleaf-tooling/kit/far-router'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { parseId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { watchOwned } from '@looseleaf/protocol/internal'
import { beforeEach, expect, test } from 'vitest'
import { byUser, entryOf, openStore } from '../../test/stores.ts'
import type { DataStore } from '@looseleaf/store'
import { indexTarget } from '../pass/index-target.ts'
import { freshPart, type Part } from './part.ts'
import { createReadings, type Readings } from './readings.ts'

let store: DataStore
beforeEach(async () => {
  store = await openStore({ driver: await memoryShards(2).connect() })
})

async function readingsOf(...parts: readonly Part[]): Promise<Readings> {
  const target = indexTarget(store.context, entryOf(store, byUser.name))
  const watch = await watchOwned(store.context, 0, {})
  return createReadings(
    store.context,
    0,
    watch,
    parts.map((part) => ({ target, part, isHeld: true })),
  )
}

test('a part begins with all buckets of its shard, and not at a place of which its buckets are unknown', async () => {
  const part = { ...freshPart('run'), addedId: 12 }
  const readings = await readingsOf(part)
  expect(part).toMatchObject({ reading: { '-1': '0-2047' }, addedId: 0 })
  expect(readings.shareOf(part)).toBe(1)
})

test('a part resumes with the buckets that its shard has kept', async () => {
  const part: Part = { ...freshPart('run'), addedId: 12, reading: { '-1': '1024-3000', 4: '7' } }
  const readings = await readingsOf(part)
  expect(part).toMatchObject({ reading: { '-1': '1024-2047' }, addedId: 12 })
  expect(readings.shareOf(part)).toBe(0.5)
})

test('parts share the work only at the same place with the same buckets', async () => {
  const parts = [
    { ...freshPart('run'), addedId: 12, reading: { '-1': '1024-2047' } },
    { ...freshPart('run'), addedId: 12, reading: { '-1': '1024-2047' } },
    { ...freshPart('run'), addedId: 12, reading: { '-1': '1025-2047' } },
    { ...freshPart('run'), addedId: 13, reading: { '-1': '1025-2047' } },
  ]
  const readings = await readingsOf(...parts)
  const target = indexTarget(store.context, entryOf(store, byUser.name))
  const groups = [...readings.of(parts.map((part) => ({ target, part, isHeld: true })))]
  expect(groups.map(({ leases }) => leases.length)).toEqual([2, 1, 1])
})

test('by a layout without moves, an entity on the wrong shard is read as well', async () => {
  const part = freshPart('run')
  const readings = await readingsOf(part)
  const target = indexTarget(store.context, entryOf(store, byUser.name))
  const [group] = [...readings.of([{ target, part, isHeld: true }])]
  for (const shard of [0, 1]) expect(group!.isRead({ id: parseId(idOn(store, shard)) })).toBe(true)
})

test('in a store without buckets a part reads all entities of its shard', async () => {
  store = await openStore({ shards: 2, router: farRouter() })
  const part = freshPart('run')
  expect((await readingsOf(part)).shareOf(part)).toBe(1)
})
