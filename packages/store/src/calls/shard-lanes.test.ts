import type { IndexScan, IndexTableSpec, Shard } from '@looseleaf/core'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createShardLanes, type ShardLanes } from './shard-lanes.ts'

const spec: IndexTableSpec = { table: 'index_a', columns: [{ name: 'a', type: 'integer' }] }
const scan = (limit: number): IndexScan => ({ prefix: [], order: 'asc', limit })
const id = (number: number): Uint8Array => Buffer.alloc(16, number)

/** The lanes of a shard whose statements only tell how many items they were of. */
function lanesOfNothing() {
  const sent: number[] = []
  const answer =
    <Item, Result>(result: Result) =>
    (items: readonly Item[]) => {
      sent.push(items.length)
      return Promise.resolve(items.map(() => result))
    }
  const none = answer<unknown, undefined>(undefined)
  const rows = answer<IndexScan, []>([])
  const shard: unknown = {
    name: 'shard 0',
    entities: { read: none, readBounded: none, readVersions: none, exist: answer(false), insert: none },
    index: () => ({ scan: (one: IndexScan) => rows([one]), scanMany: rows, upsert: none }),
  }
  return { lanes: createShardLanes(shard as Shard), sent }
}

/** Makes so many calls at once; answers how many items went before the event loop turned. */
async function sentAtOnce(
  calls: number,
  call: (lanes: ShardLanes, i: number) => Promise<unknown>,
): Promise<number> {
  const { lanes, sent } = lanesOfNothing()
  const all = Promise.all(Array.from({ length: calls }, (_, i) => call(lanes, i)))
  // Whatever needs no turn has been done by then.
  for (let i = 0; i < 20; i++) await Promise.resolve()
  const atOnce = sent.reduce((sum, items) => sum + items, 0)
  for (let i = 0; i < 3; i++) await turn()
  await all
  expect(sent).toEqual([calls])
  return atOnce
}

describe('how long a statement of several calls waits for more', () => {
  test.each([
    ['reads', (lanes: ShardLanes, i: number) => lanes.read.submit(id(i))],
    ['versions', (lanes: ShardLanes, i: number) => lanes.version.submit(id(i))],
    ['looks', (lanes: ShardLanes, i: number) => lanes.exists.submit(id(i))],
  ])('64 %s go at once, fewer do not', async (_, call) => {
    expect(await sentAtOnce(64, call)).toBe(64)
    expect(await sentAtOnce(63, call)).toBe(0)
  })

  test.each([
    [21, 4],
    [16, 4],
    [4, 16],
    [1, 64],
  ])('of scans of %i rows it takes %i', async (limit, enough) => {
    const call = (lanes: ShardLanes) => lanes.index(spec).scan.submit(scan(limit))
    expect(await sentAtOnce(enough, call)).toBe(enough)
    expect(await sentAtOnce(enough - 1, call)).toBe(0)
  })

  test('writes wait, however many', async () => {
    const row = { key: [1n], entityId: id(1), version: 1 }
    const commit = (i: number) => ({ id: id(i), base: 0, version: 1, body: id(i), epoch: 1 })
    expect(await sentAtOnce(100, (lanes) => lanes.index(spec).upsert.submit(row))).toBe(0)
    expect(await sentAtOnce(100, (lanes, i) => lanes.insert.submit(commit(i)))).toBe(0)
  })
})
