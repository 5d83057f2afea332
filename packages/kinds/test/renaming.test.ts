import { cleanIndex } from '@looseleaf/cleaner'
import type { Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { keepOpen } from '@looseleaf/testkit'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineKind, indexesOf, typed, upgradeKinds, type AnyKind } from '../src/index.ts'

const options = {
  schema: z.object({ project: z.string(), title: z.string() }),
  indexes: {
    byProject: { by: [{ project: 'string' }], include: ['title'] },
    byTitle: { by: [{ title: { type: 'string', key: 'lower' } }], unique: true },
  },
} as const
const Issue = defineKind('issue', options)
const Task = defineKind('task', { ...options, formerly: ['issue'] })
const Note = defineKind('note', {
  schema: typed<{ text: string }>(),
  indexes: { byText: { by: [{ text: 'string' }] } },
})

let driver: Driver
let warnings: string[]
beforeEach(async () => {
  driver = await memoryShards(2).connect()
  warnings = []
})

async function open(kinds: readonly AnyKind[], migrate = true): Promise<DataStore> {
  const store = await DataStore.open({
    shards: keepOpen(driver),
    indexes: indexesOf(...kinds),
    migrate,
    onWarning: (message) => warnings.push(message),
  })
  onTestFinished(() => store.close())
  return store
}

test('a renamed kind has the entities of its former name in every call, once its indexes are filled', async () => {
  const before = await open([Issue, Note])
  const [a] = await Issue.in(before).insertMany([
    { project: 'p', title: 'A' },
    { project: 'p', title: 'B' },
  ])
  const note = await Note.in(before).insert({ text: 'x' })

  const store = await open([Task, Note])
  const tasks = Task.in(store)
  // Reads by id work at once. A query rejects until its index is filled, and never returns an empty page.
  expect(await tasks.get(a!.id)).toEqual(a)
  await expect(tasks.byProject.page({ project: 'p' })).rejects.toMatchObject({ code: 'INDEX_NOT_READY' })
  await cleanIndex(store, ['task_by_project', 'task_by_title'])
  const { items } = await tasks.byProject.page({ project: 'p' })
  expect(items.map(({ title }) => title).toSorted()).toEqual(['A', 'B'])
  expect(await tasks.byTitle.first({ title: 'a' })).toEqual(a)
  expect((await tasks.byProject.list({ project: 'p' })).items).toContainEqual({
    id: a!.id,
    project: 'p',
    title: 'A',
  })
  expect(await tasks.exists(a!.id)).toBe(true)
  expect(await tasks.getMany([a!.id, note.id])).toEqual([a, undefined])
  await expect(tasks.insert({ project: 'q', title: 'a' })).rejects.toMatchObject({
    code: 'DUPLICATE_KEY',
    holder: a!.id,
  })

  // A write stores the new name. Other entities keep the old one until `upgradeKinds`.
  await tasks.update(a!.id, { project: 'q' })
  expect(await store.get(a!.id)).toEqual({ id: a!.id, _kind: 'task', project: 'q', title: 'A' })
  expect(await upgradeKinds(store, [Task])).toMatchObject({ upgraded: { task: 1 }, complete: true })
  expect(await upgradeKinds(store, [Task])).toMatchObject({ upgraded: { task: 0 } })
  for await (const entity of store.scan()) expect(entity['_kind']).not.toBe('issue')
  await store.dropIndex('issue_by_project')
  await store.dropIndex('issue_by_title')
  await expect(tasks.insert({ project: 'q', title: 'b' })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
  expect((await tasks.byProject.all({ project: 'p' })).map(({ title }) => title)).toEqual(['B'])
})

test('a renamed kind refuses writes until its unique index is filled, so that no key gets two entities', async () => {
  const before = await open([Issue])
  await Issue.in(before).insert({ project: 'p', title: 'A' })
  const store = await open([Task])
  const tasks = Task.in(store)
  const twin = { project: 'p', title: 'a' }
  for (const call of [
    () => tasks.insert(twin),
    () => tasks.put(twin),
    () => tasks.upsert(store.newId(), twin, {}),
  ])
    await expect(call()).rejects.toMatchObject({
      code: 'INDEX_NOT_READY',
      retryable: true,
      index: 'task_by_title',
    })
  // Another process fills the index, and this process notices it.
  await cleanIndex(before)
  await expect(tasks.insert(twin)).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
  await tasks.insert({ project: 'p', title: 'C' })
})

test('programs with the old and the new name share unique keys', async () => {
  const before = await open([Issue])
  const store = await open([Task])
  await cleanIndex(store)
  await Task.in(store).insert({ project: 'p', title: 'New' })
  await Issue.in(before).insert({ project: 'p', title: 'Old' })
  await expect(Issue.in(before).insert({ project: 'p', title: 'new' })).rejects.toMatchObject({
    code: 'DUPLICATE_KEY',
  })
  await expect(Task.in(store).insert({ project: 'p', title: 'old' })).rejects.toMatchObject({
    code: 'DUPLICATE_KEY',
  })
})

test('a kind with former names can write to a new store at once', async () => {
  const tasks = Task.in(await open([Task]))
  await tasks.insert({ project: 'p', title: 'A' })
  expect(await tasks.byProject.all({ project: 'p' })).toHaveLength(1)
  expect(warnings).toEqual([])
})

test('a unique index that is added to a renamed kind later does not block writes', async () => {
  const before = await open([Task])
  await before.dropIndex('task_by_title')
  const tasks = Task.in(await open([Task]))
  const { id } = await tasks.insert({ project: 'p', title: 'A' })
  expect(await tasks.get(id)).toMatchObject({ title: 'A' })
})

test('opening warns of a stored kind that the program does not define', async () => {
  await Issue.in(await open([Issue, Note])).insert({ project: 'p', title: 'A' })
  expect(warnings).toEqual([])
  const Renamed = defineKind('task', options)
  const message = expect.stringMatching(
    /^The store has indexes of the kind issue, which this program does not define, .* of the kind task,.*formerly: \['issue'\]/,
  )
  for (const migrate of [false, true, false]) {
    warnings = []
    await open([Renamed, Note], migrate)
    expect(warnings).toContainEqual(message)
  }
})

test('opening does not warn a program that uses some kinds, adds one, or declares the former name', async () => {
  const store = await open([Issue, Note])
  const About = defineKind('about', { ...options })
  await open([Note])
  await open([], false)
  await open([Issue, Note, About])
  await store.put({ _kind: 'issue', project: 'p', title: 'A' })
  await open([Task, Note])
  expect(warnings.filter((warning) => warning.includes('formerly'))).toEqual([])
})

test('former names are valid, distinct, and belong to one kind', () => {
  const named = (formerly: unknown): unknown =>
    defineKind('task', { ...options, formerly: formerly as string[] })
  for (const formerly of ['issue', [''], ['Issue'], [7], Array.from({ length: 16 }, (_, n) => `n${n}`)])
    expect(() => named(formerly)).toThrow(/formerly of defineKind\('task'\) has to be up to 15 names/)
  expect(() => named(['issue', 'issue'])).toThrow(/has the name issue twice/)
  expect(() => named(['task'])).toThrow(/has the name task twice/)
  expect(() => indexesOf(Task, Issue)).toThrow(/Two kinds have the name issue, or had it formerly/)
  const Other = defineKind('job', { ...options, formerly: ['issue'] })
  expect(() => indexesOf(Task, Other)).toThrow(/Two kinds have the name issue, or had it formerly/)
  expect(named([])).toMatchObject({ indexes: [{ on: { _kind: 'task' } }, { on: { _kind: 'task' } }] })
})
