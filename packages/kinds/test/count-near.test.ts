import { parseId, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { moduloRouter } from '@looseleaf/router'
import { DataStore } from '@looseleaf/store'
import { expect, onTestFinished, test } from 'vitest'
import { countNear, defineKind, indexesOf, typed } from '../src/index.ts'
import { openStore } from './issues.ts'

const Job = defineKind('job', {
  schema: typed<{ tenant: string; due: Date }>(),
  indexes: {
    byTenant: { by: [{ tenant: 'string' }, { due: 'time' }] },
    byDue: { by: [{ due: 'time' }], shardOn: 'id' },
  },
  near: 'tenant',
})
const Plain = defineKind('plain', { schema: typed<{ n: number }>() })
const due = new Date(0)

/** Returns an id that is not in the bucket of this tenant. */
function elsewhere(store: DataStore, tenant: string): EntityId {
  const place = Job.in(store).newId({ tenant })
  for (;;) {
    const id = store.newId()
    // The twelve bits after the version are the bucket.
    if (id.slice(15, 18) !== place.slice(15, 18)) return id
  }
}

test('entities are counted by whether they are where near says, and rows by whether they are near their entity', async () => {
  const store = await openStore(Job, Plain)
  const jobs = Job.in(store)
  const near = await jobs.insertMany(Array.from({ length: 7 }, (_, i) => ({ tenant: `tenant ${i}`, due })))
  const far = elsewhere(store, 'acme')
  await jobs.insert({ tenant: 'acme', due }, { id: far })
  await jobs.insert({ due } as never, { id: store.newId() })
  await jobs.insert({ tenant: 7, due } as never, { id: store.newId() }).catch(() => {})
  await Plain.in(store).insertMany([{ n: 1 }, { n: 2 }])
  await store.put({ n: 1 })
  await jobs.delete(near[0]!)

  const found: unknown[] = []
  const counts = await countNear(store, [Job, Plain], { onElsewhere: (...each) => found.push(each) })
  expect(counts).toEqual({
    scanned: 11,
    kinds: {
      job: {
        near: 'tenant',
        entities: 8,
        atPlace: 6,
        elsewhere: 1,
        withoutPlace: 1,
        // A row of an index with `shardOn: 'id'` is always near its entity.
        indexes: {
          job_by_tenant: { rows: 7, near: 6, local: expect.any(Number) },
          job_by_due: { rows: 8, near: 8, local: 8 },
        },
      },
      plain: { near: undefined, entities: 2, atPlace: 0, elsewhere: 0, withoutPlace: 0, indexes: {} },
    },
  })
  expect(found).toEqual([[far, 'job']])
})

test('an entity is counted elsewhere from the change of its near property on, and at its place once it is back', async () => {
  const store = await openStore(Job)
  const jobs = Job.in(store)
  const { id } = await jobs.insert({ tenant: 'acme', due })
  const tenant = Array.from({ length: 10 }, (_, i) => `tenant ${i}`).find(
    (each) => jobs.newId({ tenant: each }).slice(15, 18) !== id.slice(15, 18),
  )!
  const count = async (): Promise<unknown> => (await countNear(store, [Job])).kinds['job']
  expect(await count()).toMatchObject({ atPlace: 1, elsewhere: 0 })
  await jobs.update(id, { tenant })
  expect(await count()).toMatchObject({ atPlace: 0, elsewhere: 1 })
  await jobs.update(id, { tenant: 'acme' })
  expect(await count()).toMatchObject({ atPlace: 1, elsewhere: 0 })
})

test('with a router without buckets an entity is at its place on the shard of its property', async () => {
  const shards = memoryShards(3)
  const router = moduloRouter({ shards: 3 })
  const store = await DataStore.open({ shards, router, indexes: indexesOf(Job), migrate: true })
  onTestFinished(() => store.close())
  await Job.in(store).insertMany(Array.from({ length: 20 }, (_, i) => ({ tenant: `tenant ${i}`, due })))
  expect((await countNear(store, [Job])).kinds['job']).toMatchObject({
    atPlace: 20,
    elsewhere: 0,
    indexes: { job_by_tenant: { rows: 20, near: 20, local: 20 } },
  })
})

test('rows are local on the shard of their entity, also by chance in another bucket', async () => {
  const store = await openStore(Job)
  const jobs = Job.in(store)
  const { shardOfId } = store.context.catalog.current().placement
  const shardOf = (id: EntityId): number => shardOfId(parseId(id))
  const place = shardOf(jobs.newId({ tenant: 'acme' }))
  const [here, there] = [place, 1 - place].map((shard) => {
    for (;;) {
      const id = elsewhere(store, 'acme')
      if (shardOf(id) === shard) return id
    }
  })
  for (const id of [here, there]) await jobs.insert({ tenant: 'acme', due }, { id })
  expect((await countNear(store, [Job])).kinds['job']?.indexes['job_by_tenant']).toEqual({
    rows: 2,
    near: 0,
    local: 1,
  })
})
