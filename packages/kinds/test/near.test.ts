import { parseId, type EntityId } from '@looseleaf/core'
import { bucketOfId, deriveId } from '@looseleaf/router'
import type { DataStore } from '@looseleaf/store'
import { bucketOfRow, deriveRows } from '@looseleaf/index-engine/internal'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineKind, typed, type AnyKind } from '../src/index.ts'
import { openStore } from './issues.ts'

const Job = defineKind('job', {
  schema: z.object({ tenant: z.string(), due: z.date(), title: z.string().default('') }),
  indexes: { byTenant: { by: [{ tenant: 'string' }, { due: 'time' }] } },
  near: 'tenant',
})
const Note = defineKind('note', {
  schema: z.object({ user: z.string(), text: z.string() }),
  near: 'user',
})
const due = new Date(0)
const bucketOf = (id: EntityId): number => bucketOfId(parseId(id))

/** Returns the buckets of an entity's rows in an index of its kind. */
async function bucketsOfRows(
  store: DataStore,
  kind: AnyKind,
  index: string,
  id: EntityId,
): Promise<number[]> {
  const definition = kind.indexes.find(({ name }) => name === index)!
  const { id: _, ...bag } = (await store.get(id))!
  const { buckets } = store.context.router
  return deriveRows(definition, bag).keys.map((key) => bucketOfRow(definition, buckets!, key, parseId(id)))
}

describe('the place of a kind', () => {
  test('a fresh id is in the bucket of the rows that the index has for the near property', async () => {
    const store = await openStore(Job)
    const jobs = Job.in(store)
    for (let i = 0; i < 20; i++) {
      const value = { tenant: `tenant ${i}`, due }
      const [put, many] = [await jobs.put(value), await jobs.insertMany([value, value])]
      for (const { id } of [await jobs.insert(value), put, ...many, { id: jobs.newId(value) }])
        expect([id, bucketOf(id)]).toEqual([
          id,
          (await bucketsOfRows(store, Job, 'job_by_tenant', put.id))[0],
        ])
    }
  })

  test('a fresh id near a uuid has the bucket of this id', async () => {
    const store = await openStore(Note)
    const user = store.newId()
    const { id } = await Note.in(store).insert({ user: user.toUpperCase(), text: '' })
    expect(bucketOf(id)).toBe(bucketOf(user))
  })

  test('the stored value decides the place, not the value before the schema', async () => {
    const Lower = defineKind('lower', {
      schema: z.object({ tenant: z.string().toLowerCase() }),
      indexes: { byTenant: { by: [{ tenant: 'string' }] } },
      near: 'tenant',
    })
    const store = await openStore(Lower)
    const { id } = await Lower.in(store).insert({ tenant: 'ACME' })
    expect(await bucketsOfRows(store, Lower, 'lower_by_tenant', id)).toEqual([bucketOf(id)])
  })

  test('a near property with a key function has the place of its key', async () => {
    const Folded = defineKind('folded', {
      schema: typed<{ tenant: string }>(),
      indexes: { byTenant: { by: [{ tenant: { type: 'string', key: 'lower' } }] } },
      near: 'tenant',
    })
    const store = await openStore(Folded)
    const folded = Folded.in(store)
    const ids = [await folded.insert({ tenant: 'ACME' }), await folded.insert({ tenant: 'acme' })]
    for (const { id } of ids)
      expect(await bucketsOfRows(store, Folded, 'folded_by_tenant', id)).toEqual([bucketOf(ids[0]!.id)])
  })

  test('a near property may lie within an object', async () => {
    const Deep = defineKind('deep', {
      schema: typed<{ owner: { id: string } }>(),
      indexes: { byOwner: { by: [{ 'owner.id': 'uuid' }] } },
      near: 'owner.id',
    })
    const store = await openStore(Deep)
    const owner = { id: store.newId() }
    expect(bucketOf((await Deep.in(store).insert({ owner })).id)).toBe(bucketOf(owner.id))
    expect(bucketOf(Deep.in(store).newId({ owner }))).toBe(bucketOf(owner.id))
  })

  test('a derived id has the place of the entity, and is the same for every call', async () => {
    const store = await openStore(Job, Note)
    const jobs = Job.in(store)
    const value = { tenant: 'acme', due }
    const id = jobs.deriveId(['mail', 7], value)
    expect(id).toBe(jobs.deriveId(['mail', 7], { tenant: 'acme' }))
    expect(id).not.toBe(jobs.deriveId(['mail', 7], { tenant: 'other' }))
    expect(bucketOf(id)).toBe(bucketOf(jobs.newId(value)))
    await jobs.insert(value, { id })
    await expect(jobs.insert(value, { id })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
    const user = store.newId()
    expect(Note.in(store).deriveId('first', { user })).toBe(deriveId('note', 'first', { near: user }))
  })

  test('a kind without near derives the ids of deriveId, and makes ids anywhere', async () => {
    const Plain = defineKind('plain', { schema: typed<{ n: number }>() })
    const plain = Plain.in(await openStore(Plain))
    expect(plain.deriveId('a')).toBe(deriveId('plain', 'a'))
    const buckets = new Set(Array.from({ length: 100 }, () => bucketOf(plain.newId())))
    expect(buckets.size).toBeGreaterThan(50)
  })

  test('a renamed kind derives no ids, because they would differ from those of its former name', async () => {
    const Task = defineKind('task', { schema: typed<{ n: number }>(), formerly: ['issue'] })
    const tasks = Task.in(await openStore(Task))
    expect(() => tasks.deriveId('a')).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
  })

  test('a write of an id elsewhere is allowed', async () => {
    const store = await openStore(Job)
    const jobs = Job.in(store)
    const id = store.newId()
    const elsewhere = bucketOf(id) === bucketOf(jobs.newId({ tenant: 'acme' })) ? store.newId() : id
    await jobs.insert({ tenant: 'acme', due }, { id: elsewhere })
    await jobs.put({ id: elsewhere, tenant: 'acme', due, title: 'two' })
    expect((await jobs.byTenant.all({ tenant: 'acme' })).map((job) => job.id)).toEqual([elsewhere])
  })

  test('an entity whose near property changes keeps its id, and is found by both kinds of rows', async () => {
    const store = await openStore(Job)
    const jobs = Job.in(store)
    const { id } = await jobs.insert({ tenant: 'acme', due })
    // Some other tenant whose rows are in another bucket.
    const tenant = Array.from({ length: 10 }, (_, i) => `tenant ${i}`).find(
      (each) => bucketOf(jobs.newId({ tenant: each })) !== bucketOf(id),
    )!
    await jobs.update(id, { tenant })
    expect(await bucketsOfRows(store, Job, 'job_by_tenant', id)).not.toEqual([bucketOf(id)])
    expect((await jobs.byTenant.all({ tenant })).map((job) => job.id)).toEqual([id])
    expect(await jobs.byTenant.all({ tenant: 'acme' })).toEqual([])
    await jobs.update(id, { tenant: 'acme' })
    expect(await bucketsOfRows(store, Job, 'job_by_tenant', id)).toEqual([bucketOf(id)])
    expect((await jobs.byTenant.all({ tenant: 'acme' })).map((job) => job.id)).toEqual([id])
  })
})

test('the indexes of a kind tell whether their rows stand by its near property', () => {
  const { indexes } = defineKind('task', {
    schema: typed<{ tenant: string; owner: string; at: Date; tags: string[] }>(),
    indexes: {
      byTenant: { by: [{ tenant: 'string' }, { at: 'time' }] },
      byAt: { by: [{ at: 'time' }, { tenant: 'string' }], shardOn: 'tenant' },
      byOwner: { by: [{ owner: 'string' }, { tenant: 'string' }] },
    },
    near: 'tenant',
  })
  expect(indexes.map(({ name, near }) => [name, near])).toEqual([
    ['task_by_tenant', true],
    ['task_by_at', true],
    ['task_by_owner', undefined],
  ])
})

describe('a value without a place', () => {
  test.each<[string, object, RegExp]>([
    ['a missing property', { text: 'x' }, /placed near its property user, and this value has none of it/],
    ['null', { user: null }, /has none of it/],
    ['another type', { user: 7 }, /another type there: a UUID string is expected, got a number/],
    ['text that is no uuid', { user: 'secret' }, /a UUID string is expected, got a string of 6 characters/],
  ])('an insert with %s for near is BAD_PROPERTY, and writes nothing', async (_, value, message) => {
    const Loose = defineKind('loose', { schema: typed<{ user: string }>(), near: 'user' })
    const store = await openStore(Loose)
    const loose = Loose.in(store)
    for (const call of [() => loose.insert(value as never), () => loose.put(value as never)]) {
      await expect(call()).rejects.toMatchObject({ code: 'BAD_PROPERTY' })
      await expect(call()).rejects.toThrow(message)
    }
    expect(() => loose.newId(value as never)).toThrow(message)
    const [fate] = await loose.insertMany([value as never], { fates: true })
    expect(fate).toMatchObject({ ok: false, error: { code: 'BAD_PROPERTY' } })
    expect(await Array.fromAsync(store.scan())).toEqual([])
    // With an id the entity has a place.
    expect((await loose.insert(value as never, { id: store.newId() })).id).toBeDefined()
  })

  test('newId and deriveId of a kind with near need its property', async () => {
    const store = await openStore(Note)
    const notes = Note.in(store) as unknown as { newId(): string; deriveId(key: string): string }
    expect(() => notes.newId()).toThrow(/newId takes an object with the property user/)
    expect(() => notes.deriveId('a')).toThrow(/deriveId takes an object with the property user/)
  })
})

describe('the option near', () => {
  const schema = typed<{ tenant: string; n: number }>()
  test.each<[string, unknown, RegExp]>([
    ['an empty path', '', /takes near as the path of a property/],
    ['an empty path with a type', { '': 'string' }, /takes near as the path of a property/],
    ['a number', 7, /got a number/],
    ['two properties', { tenant: 'string', n: 'integer' }, /takes near/],
    ['an unknown type', { tenant: 'text' }, /takes near/],
    ['an array type', { tenant: 'string[]' }, /takes near/],
  ])('%s is BAD_OPTION', (_, near, message) => {
    const define = (): unknown => defineKind('job', { schema, near: near as 'tenant' })
    expect(define).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
    expect(define).toThrow(message)
  })

  test('a type that differs from that of an index on the property is BAD_OPTION', () => {
    const indexes = { byTenant: { by: [{ tenant: 'string' as const }] as const } }
    expect(() => defineKind('job', { schema, indexes, near: { tenant: 'uuid' } })).toThrow(
      /An index has it as string/,
    )
    expect(defineKind('job', { schema, indexes, near: { tenant: 'string' } }).near?.type).toBe('string')
  })

  test('indexes that have the property in different forms need a near with its type', () => {
    const indexes = {
      byTenant: { by: [{ tenant: 'string' }] },
      byFolded: { by: [{ tenant: { type: 'string', key: 'lower' } }] },
    } as const
    expect(() => defineKind('job', { schema, indexes, near: 'tenant' })).toThrow(
      "in different forms; write near as { tenant: 'string' } to choose one.",
    )
    expect(defineKind('job', { schema, indexes, near: { tenant: 'string' } }).near?.type).toBe('string')
  })

  test('a type is refused if every index has the property under a key function', () => {
    const indexes = { byFolded: { by: [{ tenant: { type: 'string', key: 'lower' } }] } } as const
    expect(() => defineKind('job', { schema, indexes, near: { tenant: 'string' } })).toThrow(
      'An index has it as the key lower of the type string, so its rows would be elsewhere.',
    )
    expect(defineKind('job', { schema, indexes, near: 'tenant' }).indexes[0]?.near).toBe(true)
  })

  test('an index on the elements of an array, or with another type, does not stand by the near property', () => {
    const lists = typed<{ tags: string[]; tenant: string }>()
    const indexes = { byTag: { by: [{ tags: 'string[]' }] } } as const
    const kind = defineKind('job', { schema: lists, indexes, near: 'tags' as never })
    expect([(kind as AnyKind).near?.type, kind.indexes[0]?.near]).toEqual(['uuid', undefined])
  })

  test('a near property without an index is a uuid, unless it has a type', () => {
    expect(defineKind('job', { schema, near: 'tenant' }).near?.type).toBe('uuid')
    expect(defineKind('job', { schema, near: { n: 'integer' } }).near?.type).toBe('integer')
  })
})
