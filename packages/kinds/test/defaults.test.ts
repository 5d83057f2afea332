import * as v from 'valibot'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineKind, typed, unset, upgradeKinds } from '../src/index.ts'
import { openStore, openStoreWith } from './issues.ts'

const Older = defineKind('note', { schema: typed<{ text: string; lines?: { sku: string }[] }>() })
const indexes = { byStarred: { by: [{ starred: 'boolean' }], shardOn: 'id' } } as const
const zodNote = z.object({
  text: z.string(),
  starred: z.boolean().default(false),
  tags: z.array(z.string()).default([]),
  lines: z.array(z.object({ sku: z.string(), count: z.number().default(1) })).optional(),
})
const Newer = defineKind('note', { schema: zodNote, indexes })

test.each([
  ['zod', zodNote],
  [
    'valibot',
    v.object({
      text: v.string(),
      starred: v.optional(v.boolean(), false),
      tags: v.optional(v.array(v.string()), []),
      lines: v.optional(v.array(v.object({ sku: v.string(), count: v.optional(v.number(), 1) }))),
    }),
  ],
])('an entity without a new property is read with the default of %s', async (_, schema) => {
  const store = await openStore()
  const { id } = await Older.in(store).insert({ text: 'a', lines: [{ sku: 'x' }] })
  const notes = defineKind('note', { schema }).in(store)
  const filled = { text: 'a', starred: false, tags: [], lines: [{ sku: 'x', count: 1 }] }
  for (let times = 0; times < 2; times++) {
    const item = await notes.get(id)
    expect(item).toMatchObject(filled)
    // A mutated default does not appear in other reads.
    item!.tags.push('mine')
  }
  expect(notes.itemOf((await store.get(id))!)).toMatchObject(filled)
  expect(await notes.getMany([id])).toMatchObject([filled])
  await notes.update(id, ({ starred, tags }) => ({ text: `${String(starred)} ${tags.length}` }))
  expect(await store.get(id)).toEqual({ ...filled, id, _kind: 'note', text: 'false 0' })
})

test('a read fills in a default after complete entities, also within objects and beside new names', async () => {
  const store = await openStore()
  const users = defineKind('user', {
    schema: z.object({
      name: z.string(),
      settings: z.object({ theme: z.string().default('light') }).nullable(),
    }),
  }).in(store)
  const put = async (settings: object | null): Promise<unknown> => {
    const { id } = await store.put({ _kind: 'user', name: 'a', settings: settings as never })
    return (await users.get(id))?.settings
  }
  expect(await put(null)).toBeNull()
  expect(await put({})).toEqual({ theme: 'light' })
  expect(await put({ theme: 'dark' })).toEqual({ theme: 'dark' })
  expect(await put({})).toEqual({ theme: 'light' })
  expect(await put({ theme: 'dark', newer: 1 })).toEqual({ theme: 'dark', newer: 1 })
  expect(await put({ newer: 1 })).toEqual({ theme: 'light', newer: 1 })
})

test('an entity that does not fit its schema is read as it is stored', async () => {
  const store = await openStore()
  const { id } = await store.put({ _kind: 'note', text: 7 })
  expect(await Newer.in(store).get(id)).toEqual({ text: 7, id, version: expect.any(Number) })
})

test('a property that an update removes gets its default', async () => {
  const notes = defineKind('note', {
    schema: z.object({ text: z.string(), due: z.string().optional(), tags: z.array(z.string()).default([]) }),
  }).in(await openStore())
  const { id } = await notes.insert({ text: 'a', due: 'x', tags: ['b'] })
  await notes.update(id, { due: unset })
  expect(await notes.get(id)).toEqual({ text: 'a', tags: ['b'], id, version: expect.any(Number) })
  expect(await notes.update(id, { tags: unset } as object)).toMatchObject({ tags: [] })
})

test('upgradeKinds puts defaults into an index, and an earlier read warns once', async () => {
  const emitWarning = vi.spyOn(process, 'emitWarning').mockReturnValue()
  const store = await openStore(Newer)
  for (const text of ['a', 'b']) await Older.in(store).insert({ text })
  const [damaged] = await store.putMany([{ _kind: 'note', text: 7 }])
  const notes = Newer.in(store)
  await notes.insert({ text: 'new' })
  const starred = { starred: false }
  expect(await notes.byStarred.count(starred, { scatter: true })).toBe(1)
  for await (const entity of store.scan()) notes.itemOf(entity)
  const warnings = emitWarning.mock.calls.map(([message]) => String(message))
  emitWarning.mockRestore()
  expect(warnings).toEqual([
    expect.stringMatching(
      /^Entities of kind note, such as [0-9a-f-]+, are stored without the value of "starred" .* Index note_by_starred does not have it\. To do: run `looseleaf kind upgrade note`/,
    ),
  ])
  const failed = [{ id: damaged!.id, error: { code: 'SCHEMA_MISMATCH' } }]
  expect(await upgradeKinds(store, [Newer], { dryRun: true })).toMatchObject({
    upgraded: { note: 2 },
    failed,
  })
  expect(await upgradeKinds(store, [Newer])).toMatchObject({ upgraded: { note: 2 }, failed })
  expect(await notes.byStarred.count(starred, { scatter: true })).toBe(3)
  const all = await notes.byStarred.all(starred, { scatter: true })
  expect(all.map(({ text }) => text).toSorted()).toEqual(['a', 'b', 'new'])
  expect(await upgradeKinds(store, [Newer])).toMatchObject({ upgraded: { note: 0 }, failed })
})

test('each store receives the warning of entities without a default once, by its own `onWarning`', async () => {
  const emitWarning = vi.spyOn(process, 'emitWarning').mockReturnValue()
  for (let stores = 0; stores < 2; stores++) {
    const warnings: string[] = []
    const store = await openStoreWith({ onWarning: (message) => void warnings.push(message) }, Newer)
    const { id } = await Older.in(store).insert({ text: 'a' })
    for (let reads = 0; reads < 2; reads++) await Newer.in(store).get(id)
    expect(warnings).toEqual([expect.stringMatching(/^Entities of kind note, such as .* "starred"/)])
  }
  expect(emitWarning).not.toHaveBeenCalled()
  emitWarning.mockRestore()
})

test('a read of an older shape warns of indexes that lack the values of its upgrade', async () => {
  const emitWarning = vi.spyOn(process, 'emitWarning').mockReturnValue()
  const Before = defineKind('user', { schema: typed<{ email: string; age: number }>() })
  const After = defineKind('user', {
    schema: typed<{ mail: string; age: number }>(),
    upgrades: [({ email, ...others }) => ({ ...others, mail: email! })],
    indexes: { byMail: { by: [{ mail: 'string' }], unique: true }, byAge: { by: [{ age: 'integer' }] } },
  })
  const store = await openStore(After)
  const { id } = await Before.in(store).insert({ email: 'a', age: 1 })
  const users = After.in(store)
  expect(await users.byMail.all({ mail: 'a' })).toEqual([])
  expect(emitWarning).not.toHaveBeenCalled()
  for (let times = 0; times < 2; times++) expect(await users.get(id)).toMatchObject({ mail: 'a' })
  const warnings = emitWarning.mock.calls.map(([message]) => String(message))
  emitWarning.mockRestore()
  expect(warnings).toEqual([
    expect.stringMatching(/the value of "mail" .* Index user_by_mail does not have it/),
  ])
  await upgradeKinds(store, [After])
  expect(await users.byMail.all({ mail: 'a' })).toHaveLength(1)
})
