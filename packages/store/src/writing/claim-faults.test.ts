import { formatId, LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen, unknownOutcome, type FaultPlan } from '@looseleaf/testkit'
import { farRouter } from '@looseleaf-tooling/kit/far-router'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'
import { repairVersion } from './repair-version.ts'

const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })
/** A version too great to be read. */
const FAR = 9_100_000_000_000_000
const AWAY = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')

let store: DataStore
let plan: FaultPlan

beforeEach(async () => {
  plan = () => undefined
  const driver = faultyDriver(await memoryShards(2).connect(), (call) => plan(call))
  const indexes = [byMail]
  store = await DataStore.open({ shards: keepOpen(driver), indexes, migrate: true, router: farRouter(2) })
})
afterEach(() => store.close())

/** Returns the ids of the entities that hold a claim, on all shards. */
async function holders(): Promise<readonly string[]> {
  const spec = tableSpec(store.context.catalog.current().indexes.find(({ unique }) => unique)!)
  const scans = store.context.driver.shards.map((shard) =>
    shard.index(spec).scan({ prefix: [], order: 'asc', limit: 100 }),
  )
  return (await Promise.all(scans)).flat().map(({ entityId }) => formatId(entityId))
}

test('the claim of a fresh entity stays while an earlier attempt of the call may be committed', async () => {
  const landing = Promise.withResolvers<void>()
  plan = ({ table, operation, number }) => {
    if (table === 'entities' && operation === 'insert' && number === 1) return { late: landing.promise }
    if (operation === 'take' && number === 2) return { before: () => Promise.reject(AWAY) }
    return undefined
  }
  const put = store.put({ mail: 'ada' })
  await expect(put).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { code: 'SHARD_UNAVAILABLE' } })
  await store.settled()
  expect(await holders()).toHaveLength(1)
  landing.resolve()
})

test('a write fails with the error of a shard that cannot hand a claim over, and succeeds after a lost answer', async () => {
  const { id } = await store.put({ mail: 'ada' })
  plan = ({ operation }) => (operation === 'remove' ? { before: () => Promise.reject(AWAY) } : undefined)
  await store.put({}, { id })
  await store.settled()
  expect(await holders()).toEqual([id])

  let swaps = 0
  plan = ({ operation }) =>
    operation === 'swap' && swaps++ === 0 ? { before: () => Promise.reject(AWAY) } : undefined
  await expect(store.put({ mail: 'ada' })).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  expect(swaps).toBe(1)

  plan = ({ operation }) =>
    operation === 'swap' ? { after: () => Promise.reject(unknownOutcome()) } : undefined
  const { id: second } = await store.put({ mail: 'ada' })
  expect(await holders()).toEqual([second])
})

test('an entity whose version cannot be read keeps its claim until its repair', async () => {
  const { id } = await store.put({ mail: 'ada' })
  plan = ({ operation }) => (operation === 'remove' ? { before: () => Promise.reject(AWAY) } : undefined)
  const { context } = store
  const { clock } = context
  Object.assign(context, { clock: { next: () => FAR } })
  await store.put({}, { id })
  Object.assign(context, { clock })
  await store.settled()
  await expect(store.put({ mail: 'ada' })).rejects.toMatchObject({ code: 'DUPLICATE_KEY', holder: id })
  expect(await repairVersion(context, id)).toBe(true)
  await store.put({ mail: 'ada' })
})
