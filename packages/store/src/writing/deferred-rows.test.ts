import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LooseleafError, parseId, type Driver } from '@looseleaf/core'
import type { EntityInsert } from '@looseleaf/core/internal'
import { sqliteShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { shardOfRow } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen, withoutPauses, type Fault, type FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const byTenant = defineIndex('by_tenant', {
  properties: { tenant: 'string' },
  shardOn: 'tenant',
  near: true,
})
const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'id' })

let folder: string
let files: Driver
const opened: DataStore[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looseleaf-deferred-'))
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
    indexes: [byTenant, byTag],
    migrate: true,
    onIndexFailure: 'defer',
    time: withoutPauses,
  })
  opened.push(store)
  return store
}

const locked: Fault = {
  before: () => Promise.reject(new LooseleafError('SHARD_BUSY', 'The index table is locked.')),
}

/** Opens a store whose queries read after a write, and ask for pending rows before it. */
async function openReader(write: () => Promise<void>): Promise<DataStore> {
  let isReading = false
  let written: Promise<void> | undefined
  const reader = await open(({ operation }) =>
    isReading && operation.startsWith('scan') ? { before: () => (written ??= write()) } : undefined,
  )
  isReading = true
  return reader
}

test('a query finds an entity whose new row is deferred on its own shard while the query reads', async () => {
  let isFailing = false
  const writer = await open(({ operation }) => (isFailing && operation === 'upsert' ? locked : undefined))
  const { indexes, placement } = writer.context.catalog.current()
  const entry = indexes.find(({ name }) => name === byTenant.name)!
  const shardOf = (tenant: string): number =>
    shardOfRow(entry, placement, [Buffer.from(tenant)], parseId(writer.newId()))
  const elsewhere = Array.from({ length: 100 }, (_, i) => `tenant ${i}`).find(
    (tenant) => shardOf(tenant) === shardOf('ada'),
  )!
  const id = writer.newId({ near: { string: 'ada' } })
  await writer.put({ tenant: 'ada' }, { id })
  const reader = await openReader(async () => {
    isFailing = true
    expect(await writer.put({ tenant: elsewhere }, { id })).toMatchObject({ indexed: false })
  })
  const page = await reader.query(byTenant, { tenant: { in: ['ada', elsewhere] } })
  expect(isFailing).toBe(true)
  expect(page).toMatchObject({ items: [{ id }], cost: { complete: true } })
})

test('a query finds an entity that loses a row while another one, of an earlier write, is deferred', async () => {
  let isFailing = false
  const writer = await open(({ operation, args }) => {
    const [rows] = args as [readonly Partial<EntityInsert>[]]
    const hasRows =
      operation === 'upsert' || (operation === 'replace' && rows.some(({ local }) => local?.upsert))
    return isFailing && hasRows ? locked : undefined
  })
  const { id } = await writer.put({ tags: ['a'] })
  const reader = await openReader(async () => {
    isFailing = true
    expect(await writer.put({ tags: ['a', 'b'] }, { id })).toMatchObject({ indexed: false })
    await writer.put({ tags: ['b'] }, { id })
  })
  const page = await reader.query(byTag, { tags: { in: ['a', 'b'] } }, { scatter: true })
  expect(isFailing).toBe(true)
  expect(page).toMatchObject({ items: [{ id }], cost: { complete: true } })
})
