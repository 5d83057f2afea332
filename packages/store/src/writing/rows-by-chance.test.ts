import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LooseleafError, parseId, type Driver } from '@looseleaf/core'
import { sqliteShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { shardOfRow } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen, withoutPauses, type FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const byTenant = defineIndex('by_tenant', {
  properties: { tenant: 'string' },
  shardOn: 'tenant',
  near: true,
})

let folder: string
let files: Driver
const opened: DataStore[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looseleaf-chance-'))
  files = await sqliteShards({ folder, shards: 2, durability: 'normal' }).connect()
})
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
  await files.close()
  await rm(folder, { recursive: true })
})

async function open(plan: FaultPlan): Promise<DataStore> {
  const store = await DataStore.open({
    shards: keepOpen(faultyDriver(files, plan)),
    indexes: [byTenant],
    migrate: true,
    onIndexFailure: 'defer',
    time: withoutPauses,
  })
  opened.push(store)
  return store
}

test('a query finds an entity whose new row is deferred on its own shard while the query reads', async () => {
  let isFailing = false
  const writer = await open(({ operation }) => {
    if (!isFailing || operation !== 'upsert') return undefined
    return { before: () => Promise.reject(new LooseleafError('SHARD_BUSY', 'The index table is locked.')) }
  })
  const { catalog } = writer.context
  const [entry] = catalog.current().indexes
  const { placement } = catalog.current()
  const shardOf = (tenant: string): number =>
    shardOfRow(entry!, placement, [Buffer.from(tenant)], parseId(writer.newId()))
  const elsewhere = Array.from({ length: 100 }, (_, i) => `tenant ${i}`).find(
    (tenant) => shardOf(tenant) === shardOf('ada'),
  )!
  const id = writer.newId({ near: { string: 'ada' } })
  await writer.put({ tenant: 'ada' }, { id })

  let isReading = false
  const reader = await open(({ operation }) => {
    if (!isReading || !operation.startsWith('scan')) return undefined
    isReading = false
    return {
      async before() {
        isFailing = true
        expect(await writer.put({ tenant: elsewhere }, { id })).toMatchObject({ indexed: false })
      },
    }
  })
  isReading = true
  const page = await reader.query(byTenant, { tenant: { in: ['ada', elsewhere] } })
  expect(isFailing).toBe(true)
  expect(page).toMatchObject({ items: [{ id }], cost: { complete: true } })
})
