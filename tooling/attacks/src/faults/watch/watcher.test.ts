import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createRandom } from '@looseleaf-tooling/kit/random'
import type { EntityState, Tables } from './tables.ts'
import { startWatcher, type WatchOptions, type WatchResult } from './watcher.ts'

const ROW = '0 index_a KEY entity'
const OLD_ROW = '0 index_a OLD entity'

/** Tables of one entity with the state, rows and pending rows given. */
function tablesOf(now: { version: number; rows: readonly string[]; pending?: readonly string[] }): Tables {
  const unused = (): never => {
    throw new Error('The watcher does not call this.')
  }
  const expected = ({ version }: EntityState): string[] => [version === 1 ? OLD_ROW : ROW]
  return {
    entities: async () => [{ id: 'entity', version: now.version, bag: {} }],
    rows: async () => new Set(now.rows),
    pending: async () => new Set(now.pending),
    expected,
    kept: expected,
    ask: unused,
    close: unused,
  }
}

async function watch(tables: Tables, options: WatchOptions, meanwhile?: () => void): Promise<WatchResult> {
  const watcher = startWatcher(tables, ['entity'], createRandom(1), options)
  await sleep(30)
  meanwhile?.()
  await sleep(30)
  return watcher.stop()
}

describe('an absent row', () => {
  test('an absent row is missing if it must always be there', async () => {
    const { missing } = await watch(tablesOf({ version: 2, rows: [] }), {})
    expect(missing).toContain(`${ROW} of version 2`)
  })

  test('an absent row is excused while it is pending, and missing otherwise', async () => {
    const options: WatchOptions = { promised: 'unless pending' }
    const excused = await watch(tablesOf({ version: 2, rows: [], pending: ['index_a entity'] }), options)
    expect(excused.missing).toEqual([])
    expect(excused.excused).toBeGreaterThan(0)
    const other = await watch(tablesOf({ version: 2, rows: [], pending: ['index_b entity'] }), options)
    expect(other.missing).toContain(`${ROW} of version 2`)
  })

  test('an absent row is excused if rows are written after their entity', async () => {
    const { missing, excused } = await watch(tablesOf({ version: 2, rows: [] }), { promised: 'in the end' })
    expect(missing).toEqual([])
    expect(excused).toBeGreaterThan(0)
  })
})

describe('the rows of a replaced state', () => {
  test('rows of a replaced state are missing if they disappear before their time', async () => {
    const now = { version: 1, rows: [OLD_ROW] }
    const { missing } = await watch(tablesOf(now), { keptMs: 60_000 }, () => {
      now.version = 2
      now.rows = [ROW]
    })
    expect(missing[0]).toContain(`${OLD_ROW} of version 1`)
  })

  test('the watcher looks for them while they must stay', async () => {
    const now = { version: 1, rows: [OLD_ROW] }
    const { missing, kept } = await watch(tablesOf(now), { keptMs: 60_000 }, () => {
      now.rows = [OLD_ROW, ROW]
      now.version = 2
    })
    expect(missing).toEqual([])
    expect(kept).toBeGreaterThan(0)
  })
})
