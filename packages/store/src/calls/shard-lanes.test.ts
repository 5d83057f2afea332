import type { Shard } from '@looseleaf/core'
import type { IndexScan, IndexTableSpec } from '@looseleaf/core/internal'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createShardLanes, type ShardLanes } from './shard-lanes.ts'

const spec: IndexTableSpec = { table: 'index_a', columns: [{ name: 'a', type: 'integer' }] }
const scan = (limit: number): IndexScan => ({ prefix: [], order: 'asc', limit })
const id = (number: number): Uint8Array => Buffer.alloc(16, number)

/** Returns the lanes of a shard whose statements only record their number of items. */
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
    index: () => ({ scan: (scanned: IndexScan) => rows([scanned]), scanMany: rows, upsert: none }),
  }
  return { lanes: createShardLanes(shard as Shard), sent }
}

/** Makes this many concurrent calls, and returns the number of items sent before the next turn of the event loop. */
async function sentAtOnce(
  calls: number,
  call: (lanes: ShardLanes, i: number) => Promise<unknown>,
): Promise<number> {
  const { lanes, sent } = lanesOfNothing()
  const all = Promise.all(Array.from({ length: calls }, (_, i) => call(lanes, i)))
  // Runs everything that needs no turn of the event loop.
  for (let i = 0; i < 20; i++) await Promise.resolve()
  const atOnce = sent.reduce((sum, items) => sum + items, 0)
  for (let i = 0; i < 3; i++) await turn()
  await all
  expect(sent).toEqual([calls])
  return atOnce
}

describe('the wait of a statement for more calls', () => {
  test.each([
    ['reads', (lanes: ShardLanes, i: number) => lanes.read.submit(id(i))],
    ['versions', (lanes: ShardLanes, i: number) => lanes.version.submit(id(i))],
    ['looks', (lanes: ShardLanes, i: number) => lanes.exists.submit(id(i))],
  ])('64 %s go at once, and fewer wait', async (_, call) => {
    expect(await sentAtOnce(64, call)).toBe(64)
    expect(await sentAtOnce(63, call)).toBe(0)
  })

  test.each([
    [21, 4],
    [16, 4],
    [4, 16],
    [1, 64],
  ])('scans of %i rows go at once if there are %i', async (limit, enough) => {
    const call = (lanes: ShardLanes) => lanes.index(spec).scan.submit(scan(limit))
    expect(await sentAtOnce(enough, call)).toBe(enough)
    expect(await sentAtOnce(enough - 1, call)).toBe(0)
  })

  test('any number of writes waits', async () => {
    const row = { key: [1n], entityId: id(1), version: 1 }
    const commit = (i: number) => ({ id: id(i), base: 0, version: 1, body: id(i), epoch: 1 })
    expect(await sentAtOnce(100, (lanes) => lanes.index(spec).upsert.submit(row))).toBe(0)
    expect(await sentAtOnce(100, (lanes, i) => lanes.insert.submit(commit(i)))).toBe(0)
  })
})
