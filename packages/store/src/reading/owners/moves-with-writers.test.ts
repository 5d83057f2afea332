import type { Driver, EntityId, Time } from '@looseleaf/core'
import type { EntityRow, ShardServes } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents, changeServes } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'

/** A bucket goes to and fro between two shards this many times. */
const MOVES = 30
const ENTITIES = 4

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const time: Time = { now: Date.now, elapsed: () => performance.now(), sleep: turn }

/** Opens a store whose statements take some turns of the event loop, so that steps of moves come in between. */
async function openSlow(memory: Driver): Promise<DataStore> {
  let calls = 0
  const wait = async (): Promise<void> => {
    for (let turns = ++calls % 4; turns > 0; turns--) await turn()
  }
  const slow = faultyDriver(memory, () => ({ before: wait, after: wait }))
  return DataStore.open({ shards: keepOpen(slow), time })
}

test('no read is older than a write that was acknowledged before it began, while buckets move to and fro', async () => {
  const memory = await memoryShards(2).connect()
  const made = await DataStore.open({ shards: keepOpen(memory), migrate: true })
  const ids = Array.from({ length: ENTITIES }, () => idOn(made, 0))
  await changeCatalogContents(memory, ({ layout, ...contents }) => ({
    ...contents,
    layout: { ...layout!, revision: 1, moves: [{ id: 1, from: 0, to: 1, buckets: '0-2047', phase: 'both' }] },
  }))
  const stores = await Promise.all([openSlow(memory), openSlow(memory), openSlow(memory)])
  const acknowledged = new Map<EntityId, number>(ids.map((id) => [id, 0]))
  let isOver = false
  let reads = 0

  async function write(store: DataStore, id: EntityId): Promise<void> {
    for (let n = 1; !isOver; n++) {
      await store.put({ n }, { id })
      acknowledged.set(id, n)
      await turn()
    }
  }
  async function read(store: DataStore, next: number): Promise<void> {
    for (let i = next; !isOver; i++) {
      const id = ids[i % ids.length]!
      const least = acknowledged.get(id)!
      const found = i % 2 === 0 ? await store.get(id) : (await store.getMany([id]))[0]
      expect(Number(found?.['n'] ?? 0)).toBeGreaterThanOrEqual(least)
      reads++
      await turn()
    }
  }

  const serves: (readonly [ShardServes, ShardServes])[] = []
  async function change(number: number, next: ShardServes): Promise<void> {
    const shard = memory.shards[number]!
    for (;;) if (await changeServes(shard, (await shard.catalog.load())!, next)) return
  }
  async function moveOnce(move: number, from: number, to: number): Promise<void> {
    const motion = { move, attempt: 1, buckets: '0-2047' }
    const other = (number: number): string => (number === 1 ? '2048-4095' : '')
    const all = (number: number): string => (number === 1 ? '0-4095' : '0-2047')
    const [source, target] = [memory.shards[from]!, memory.shards[to]!]
    const past = serves.at(-1)
    const records = (number: number): Partial<ShardServes> => {
      const { away, arrived } = past?.[number] ?? {}
      return { away, arrived }
    }
    await change(from, {
      owns: all(from),
      ...records(from),
      leaving: [{ ...motion, to, sealed: '0-2047' }],
    })
    // Writers that know no seal are refused from here on, because the next change of the shard refuses what they have begun.
    const given: ShardServes = { owns: other(from), away: [{ ...motion, to, end: move }] }
    await change(from, given)
    const { epoch } = (await target.catalog.load())!
    const rows = (await source.entities.pageByAdded(0, 500, { maxBody: 1_000_000 })) as readonly EntityRow[]
    const stale = rows.filter(({ id }) => made.context.router.shardOfId(id) === 0)
    await target.entities.discard(
      stale.map(({ id }) => id),
      { epoch },
    )
    if (stale.length > 0)
      await target.entities.receive(stale, { epoch, updated: await target.entities.raiseFloor() })
    for (let turns = move % 5; turns > 0; turns--) await turn()
    const taken: ShardServes = {
      owns: all(to),
      arrived: [{ ...motion, from, afterAddedId: 0, end: move, begin: move }],
    }
    await change(to, taken)
    serves.push(from === 0 ? [given, taken] : [taken, given])
    for (let turns = 0; turns < 20; turns++) await turn()
  }

  const work = [
    ...ids.map((id, i) => write(stores[i % 2]!, id)),
    ...Array.from({ length: 6 }, (_, i) => read(stores[i % 3]!, i)),
  ]
  const moving = (async () => {
    for (let move = 1; move <= MOVES; move++) await moveOnce(move, (move - 1) % 2, move % 2)
  })()
  try {
    await Promise.race([moving, ...work])
    await moving
  } finally {
    isOver = true
    await Promise.all(work)
    await Promise.all([made, ...stores].map((store) => store.close()))
    await memory.close()
  }
  expect(reads).toBeGreaterThan(MOVES)
})
