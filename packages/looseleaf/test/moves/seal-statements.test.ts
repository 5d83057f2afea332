import { parseId, type EntityId } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveBuckets } from '@looseleaf/mover/internal'
import { openStore } from './stores.ts'

const connections = { opened: 1, open: 1, idle: 1, limit: 1, waiting: 0, refusal: undefined }

/** Moves two groups of buckets, and returns the calls of the mover from each seal until the target serves the group, with their shards. */
async function callsUnderSeals(options: {
  /** Puts an entity of the first group between the last copy before the seal and the seal. */
  readonly withWrite: boolean
}): Promise<readonly (readonly string[])[]> {
  const memory = await memoryShards(2).connect()
  const writer = await openStore(memory)
  const isFirst = entitiesIn(writer.context, '0-511')
  let id: EntityId
  do id = writer.newId()
  while (!isFirst(parseId(id)))
  const seals: string[][] = []
  let isSealed = false
  // As a driver of servers, which tells whether a server may have restarted.
  const counting = memory.shards.map((shard) => ({ ...shard, connections: () => connections }))
  const watched = faultyDriver({ ...memory, shards: counting }, ({ table, operation, shard, args }) => {
    const { serves } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
    const isSeal = serves?.leaving?.some(({ sealed }) => sealed !== undefined) === true
    if (isSeal) {
      isSealed = true
      seals.push([])
    }
    if (isSealed) seals.at(-1)!.push(`${table} ${operation} ${shard}`)
    if (serves?.arrived !== undefined) isSealed = false
    if (!isSeal || seals.length > 1 || !options.withWrite) return undefined
    return { before: async () => void (await writer.put({ n: 1 }, { id })) }
  })
  const mover = await openStore(watched, leapingTime())
  await moveBuckets(mover, { from: 0, to: 1, buckets: '0-1023' }, { groups: 2 })
  return seals
}

test('a group without new rows is sealed and handed over by five calls', async () => {
  const calls = [
    'catalog change 0',
    'pending page 0',
    'entities pageOfChanges 0',
    'catalog change 0',
    'catalog change 1',
  ]
  expect(await callsUnderSeals({ withWrite: false })).toEqual([calls, calls])
})

test('the rows of a sealed group add a flush, a write and a comparison', async () => {
  const [first, second] = await callsUnderSeals({ withWrite: true })
  expect(first).toEqual([
    'catalog change 0',
    'pending page 0',
    'entities pageOfChanges 0',
    'shard flush 0',
    'entities receive 1',
    'entities checksums 1',
    'catalog change 0',
    'catalog change 1',
  ])
  // The first group's change of the target is known, so it costs the second one nothing.
  expect(second).toHaveLength(5)
})
