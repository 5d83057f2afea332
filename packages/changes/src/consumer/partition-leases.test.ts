import type { DataStore } from '@looseleaf/store'
import { unknownOutcome, type Fault } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gone, Search } from '../../test/search.ts'
import { partitionTask } from '@looseleaf/protocol/internal'
import { recordFromText, type Failing } from '../records/partition-record.ts'
import { createPartitionLeases, type PartitionLeases } from './partition-leases.ts'

let search: Search
let store: DataStore
let leases: PartitionLeases

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
  leases = createPartitionLeases(store.context, 0, {
    consumer: 'search',
    leaseMs: 60_000,
    incarnation: () => '',
    beginning: () => Promise.resolve({ updated: 0, addedId: 0, since: 0 }),
    onError: (error) => expect.unreachable(String(error)),
  })
  await leases.refresh(new Set(), {})
})
afterEach(() => search.end(store))

function fail(number: number): Failing {
  const id = store.newId()
  const failing = { id, version: 1, attempts: 1, error: 'The handler fails.', failedAt: 1 }
  leases.held.find((partition) => partition.number === number)!.failing.set(id, failing)
  return failing
}

async function savedFailing(number: number): Promise<readonly Failing[]> {
  const state = await search.memory.shards[0]!.tasks.load(partitionTask('search', number))
  return recordFromText(state!.progress)!.failing
}

test('a save that is slow does not overwrite one that was made later', async () => {
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let saves = 0
  const slow: Fault = {
    before() {
      begun.resolve()
      return held.promise
    },
  }
  search.plan = ({ operation }) => (operation === 'saveAll' && ++saves === 1 ? slow : undefined)
  const first = leases.save()
  await begun.promise
  const change = fail(3)
  const later = [leases.save(), leases.save()]
  // Time for the later ones to overtake the first.
  await search.memory.shards[0]!.tasks.load('any')
  held.resolve()
  await Promise.all([first, ...later])
  expect(await savedFailing(3)).toEqual([change])
  // Both later ones share a statement.
  expect(saves).toBe(2)
})

test('a save without an answer that takes place late does not overwrite one that was made later', async () => {
  let late: readonly unknown[] | undefined
  search.plan = ({ operation, args }) =>
    operation === 'saveAll' && late === undefined
      ? {
          before() {
            late = args
            throw unknownOutcome()
          },
        }
      : undefined
  const [, second] = leases.held
  await expect(leases.save()).rejects.toMatchObject({ unknownOutcome: true })
  // Handlers of this process do not begin any more with these partitions: others may have them.
  expect(second!.isHeld).toBe(false)
  expect(leases.held).toEqual([])
  await leases.refresh(new Set(), {})
  expect(leases.held).toHaveLength(8)
  const change = fail(3)
  await leases.save()
  const { tasks } = search.memory.shards[0]!
  expect(await (tasks.saveAll as (...args: readonly unknown[]) => Promise<unknown>)(...late!)).toEqual(
    new Set(),
  )
  expect(await savedFailing(3)).toEqual([change])
})

test('a save that was refused keeps the partitions', async () => {
  search.plan = ({ operation }) => (operation === 'saveAll' ? gone : undefined)
  await expect(leases.save()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  expect(leases.held.every(({ isHeld }) => isHeld)).toBe(true)
  expect(leases.held).toHaveLength(8)
})
