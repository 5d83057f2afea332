import { consume, type ChangedItem } from '@looseleaf/changes'
import { parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineKind, typed } from '@looseleaf/kinds'
import { entitiesIn } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, test } from 'vitest'
import { openStore, SOME_BUCKETS } from '../stores.ts'
import { poll as expectSoon } from './consumed.ts'
import { finishMoves, moveUntil } from './moving.ts'

const Entry = defineKind('entry', { schema: typed<{ n: number }>() })
const Inbox = defineKind('inbox', { schema: typed<{ n: number }>() })
const QUICK = { from: 'beginning', pollMs: 10, leaseMs: 300, retryMs: 5 } as const

let driver: Driver
let mover: DataStore
let store: DataStore
/** Entries whose buckets move. */
let moving: EntityId[]

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  mover = await openStore(driver, leapingTime())
  store = await openStore(driver)
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  moving = []
  while (moving.length < 6) {
    const id = store.newId()
    if (!isIn(parseId(id))) continue
    await Entry.in(store).insert({ n: 0 }, { id })
    moving.push(id)
  }
  await Inbox.in(store).insertMany(Array.from({ length: 80 }, (_, n) => ({ n })))
})
afterEach(async () => {
  await Promise.all([store.close(), mover.close()])
  await driver.close()
})

const writeInboxes = (n: number): Promise<unknown> =>
  Inbox.in(store).insertMany(Array.from({ length: 20 }, () => ({ n })))

test('a consumer of a kind gets the items that move in order and once, and holds no move up while only other kinds are written', async () => {
  const handled: string[] = []
  await using _ = consume(store, 'deliver', ({ id, item }) => void handled.push(`${id} ${item?.n}`), {
    ...QUICK,
    kinds: [Entry],
  })
  await expectSoon(() => handled.length).toBe(6)
  await moveUntil(mover, 'emptying')
  await writeInboxes(1)
  for (const id of moving.slice(0, 3)) await Entry.in(store).update(id, { n: 1 })
  await writeInboxes(2)
  await finishMoves(mover)
  await expectSoon(() => handled.slice(6).toSorted()).toEqual(
    moving
      .slice(0, 3)
      .map((id) => `${id} 1`)
      .toSorted(),
  )
})

test('a failing change of an item that moves is retried on the new shard, also if the entity has another kind by then', async () => {
  const [kept, changed] = moving as [EntityId, EntityId]
  let isDown = true
  const handled: string[] = []
  const handler = ({ id, item }: ChangedItem<typeof Entry>): void => {
    if (isDown && (id === kept || id === changed)) throw new Error('down')
    handled.push(`${id} ${item?.n}`)
  }
  await using _ = consume(store, 'deliver', handler, {
    ...QUICK,
    retryMs: 20,
    maxAttempts: 10_000,
    kinds: [Entry],
  })
  await expectSoon(() => handled.length).toBe(4)
  await moveUntil(mover, 'emptying')
  await store.put({ n: 1, _kind: 'inbox' }, { id: changed })
  await finishMoves(mover)
  isDown = false
  await expectSoon(() => handled.slice(4).toSorted()).toEqual(
    [`${kept} 0`, `${changed} undefined`].toSorted(),
  )
})
