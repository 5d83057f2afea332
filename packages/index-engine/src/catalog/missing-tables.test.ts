import { LooseleafError } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { beforeEach, describe, expect, it } from 'vitest'
import { tableSpec } from '../definitions/catalog-entries.ts'
import { defineIndex } from '../definitions/define-index.ts'
import { hasIndexTable, indexesWithMissingTables } from './missing-tables.ts'

const entries = ['by_link', 'by_rank', 'by_size'].map((table): CatalogEntry => {
  const definition = defineIndex(table, { properties: { any: 'string' }, shardOn: 'any' })
  return { ...definition, generation: 1, table, state: 'ready' }
})

let plan: FaultPlan
const reference = createReferenceDriver({ shards: 3 })
const driver = faultyDriver(reference, (call) => plan(call))

beforeEach(async () => {
  plan = () => undefined
  for (const shard of reference.shards) {
    for (const entry of entries) await shard.createIndexTable(tableSpec(entry))
  }
})

const drop = (shard: number, entry: number): Promise<void> =>
  reference.shards[shard]!.dropIndexTable(tableSpec(entries[entry]!))

describe('indexes with missing tables', () => {
  it('no index is listed if all tables exist', async () => {
    expect(await indexesWithMissingTables(driver, entries)).toEqual([])
  })

  it('an index is listed if any shard lacks its table', async () => {
    await drop(2, 0)
    for (const shard of [0, 1, 2]) await drop(shard, 2)
    expect(await indexesWithMissingTables(driver, entries)).toEqual([entries[0], entries[2]])
    expect(await indexesWithMissingTables(driver, entries.slice(1, 2))).toEqual([])
  })

  it('an unreachable shard makes the call reject', async () => {
    plan = ({ operation, shard }) =>
      operation === 'scan' && shard === 1
        ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
        : undefined
    await expect(indexesWithMissingTables(driver, entries)).rejects.toMatchObject({
      code: 'SHARD_UNAVAILABLE',
    })
  })
})

it('hasIndexTable reads at most one row', async () => {
  const scans: unknown[] = []
  plan = ({ operation, args }) => {
    if (operation === 'scan') scans.push(args[0])
    return undefined
  }
  expect(await hasIndexTable(driver.shards[0]!, entries[0]!)).toBe(true)
  await drop(0, 0)
  expect(await hasIndexTable(driver.shards[0]!, entries[0]!)).toBe(false)
  const oneRow = { prefix: [], order: 'asc', limit: 1 }
  expect(scans).toEqual([oneRow, oneRow])
})
