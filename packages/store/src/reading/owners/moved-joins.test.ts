import { parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { handOverOf, MOVING, type HandOver } from '../../../test/hand-over.ts'
import { DataStore } from '../../data-store.ts'

// Rows are scanned with their entities on a shard that loses them at this moment, and that has old copies of them for a while.

const byUser = defineIndex('by_user', {
  properties: { user: 'uuid', n: 'number' },
  shardOn: 'user',
  include: ['title'],
})

let memory: Driver
let plan: FaultPlan
let move: HandOver
let reader: DataStore
let writer: DataStore
/** On shard 0 by the first layout, as its user. */
let id: EntityId
let user: EntityId

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  plan = () => undefined
  move = handOverOf(memory)
  writer = await DataStore.open({ shards: keepOpen(memory), indexes: [byUser], migrate: true })
  reader = await DataStore.open({ shards: keepOpen(faultyDriver(memory, (call) => plan(call))) })
  user = idOn(writer, 0)
  const bags = Array.from({ length: 20 }, (_, n) => ({
    id: writer.newId({ near: user }),
    user,
    n,
    title: 'before',
  }))
  const put = await writer.putMany(bags)
  id = put[0]!.id
  await reader.query(byUser, { user })
})
afterEach(async () => {
  await Promise.all([reader.close(), writer.close()])
  await memory.close()
})

/** Gives all buckets of shard 0 to shard 1, and changes the entity there. */
async function moveAndWrite(empties: boolean): Promise<void> {
  await move.seal(MOVING)
  await move.giveUp(MOVING)
  await move.beginAtTarget(MOVING)
  await writer.context.catalog.reload()
  await writer.update(id, (bag) => ({ ...bag, title: 'after' }))
  if (!empties) return
  const { epoch } = (await memory.shards[0]!.catalog.load())!
  await memory.shards[0]!.entities.discard([parseId(id)], { epoch })
}

const reads = {
  query: () => reader.query(byUser, { user }, { limit: 5 }),
  list: () => reader.list(byUser, { user }, { limit: 5 }),
}

test.for(
  (['query', 'list'] as const).flatMap((read) =>
    (['before', 'after'] as const).flatMap((side) =>
      [false, true].map((empties) => [read, side, empties] as const),
    ),
  ),
)(
  'a %s finds the entity at its new owner if it moves %s the scan; emptied: %s',
  async ([read, side, empties]) => {
    await move.begin()
    await Promise.all([reader, writer].map((store) => store.context.catalog.reload()))
    let scans = 0
    plan = ({ operation, shard }) =>
      /^scan(Entities|Versions)$/.test(operation) && shard === 0 && ++scans === 1
        ? { [side]: () => moveAndWrite(empties) }
        : undefined
    const { items } = await reads[read]()
    expect(scans).toBe(1)
    expect(items).toHaveLength(5)
    expect(items[0]).toMatchObject({ id, title: 'after' })
  },
)

test('a page takes entities with their rows while a move is announced', async () => {
  await move.begin()
  await reader.context.catalog.reload()
  const sent: string[] = []
  plan = ({ operation, shard, table }) => {
    if (table !== 'catalog') sent.push(`${operation} ${shard}`)
    return undefined
  }
  await reads.query()
  expect(sent).toEqual(['scanEntities 0', 'floor 0'])
})
