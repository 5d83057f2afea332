import { isLooseleafError, metaOf, type Entity } from '@looseleaf/core'
import { unchanged } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { defineKind, typed, unset } from '../src/index.ts'
import { Issue, openStore } from './issues.ts'

const Note = defineKind('note', { schema: typed<{ text: string }>() })
const fresh = { project: 'p', title: 'A' }

test('insert stores the output of the schema, and returns it with id and version', async () => {
  const issues = Issue.in(await openStore(Issue))
  const issue = await issues.insert(fresh)
  expect(issue).toEqual({
    ...fresh,
    status: 'open',
    labels: [],
    assignee: null,
    id: issue.id,
    version: expect.any(Number),
  })
  const read = await issues.get(issue.id)
  expect(read).toEqual(issue)
  expect(metaOf(read!)?.version).toBe(issue.version)
  expect(await issues.getMany([issue.id, issues.store.newId()])).toEqual([issue, undefined])
})

test('a value that does not fit the schema is refused with its issues, and nothing is written', async () => {
  const store = await openStore(Issue)
  const issues = Issue.in(store)
  // @ts-expect-error a title is a string
  await expect(issues.insert({ project: 'p', title: 7 })).rejects.toMatchObject({
    code: 'SCHEMA_MISMATCH',
    message: expect.stringMatching(/^The issue does not fit its schema: title: /),
    issues: [{ path: ['title'], message: expect.any(String) }],
  })
  const { id, version } = await issues.insert(fresh)
  await expect(issues.update(id, { title: '' })).rejects.toMatchObject({
    code: 'SCHEMA_MISMATCH',
    entity: id,
  })
  expect(await issues.get(id)).toMatchObject({ title: 'A', version })
  expect((await store.status()).shards.reduce((sum, { entities = 0 }) => sum + entities, 0)).toBe(1)
})

test('an id may be in upper case, and the item that a call returns has it in lower case', async () => {
  const store = await openStore(Issue)
  const issues = Issue.in(store)
  const item = await issues.insert(fresh)
  const { id } = item
  const upper = id.toUpperCase()
  const fresher = { ...fresh, status: 'closed' } as const
  const [other, another] = [store.newId(), store.newId()]
  const written = [
    await issues.update(upper, item),
    await issues.update(upper, { title: 'B' }),
    await issues.put(fresher, { id: upper }),
    await issues.put({ ...fresher, id: upper }),
    await issues.upsert(upper, fresh, { title: 'C' }),
    ...(await store.batch([issues.writes.update(upper, (await issues.get(id))!)])),
    ...(await store.batch([issues.writes.put(fresher, { id: upper })])),
  ]
  expect(written.map((each) => each.id)).toEqual(written.map(() => id))
  expect(await issues.insert({ ...fresh, title: 'X' }, { id: other.toUpperCase() })).toMatchObject({
    id: other,
  })
  expect(await issues.insert({ ...fresh, title: 'Y', id: another.toUpperCase() })).toMatchObject({
    id: another,
  })
  expect(await issues.delete(upper)).toBe(true)
})

test('a patch changes the properties that it names, `unset` removes one, and the others stay', async () => {
  const issues = Issue.in(await openStore(Issue))
  const { id } = await issues.insert({ ...fresh, due: new Date(0), author: { id: 'x' } })
  const changed = await issues.update(id, { title: 'B', due: unset })
  expect(changed).toMatchObject({ title: 'B', author: { id: 'x' }, project: 'p' })
  expect(changed).not.toHaveProperty('due')
  expect(await issues.get(id)).toEqual(changed)
  const counted = await issues.update(id, ({ labels }) => ({ labels: [...labels, 'bug'] }))
  expect(counted.labels).toEqual(['bug'])
})

test('an undefined property is refused by every call that takes a patch, and removes nothing', async () => {
  const issues = Issue.in(await openStore(Issue))
  const issue = await issues.insert({ ...fresh, due: new Date(0) })
  const { id } = issue
  const none = { title: 'B', due: undefined } as { title: string }
  for (const call of [
    () => issues.update(id, none),
    () => issues.update(id, () => none),
    () => issues.upsert(id, fresh, none),
    () => issues.upsert(issues.store.newId(), fresh, none),
    () => issues.updateMany([], none),
    () => issues.byProject.updateWhere({ project: 'no such' }, none),
  ]) {
    await expect(call()).rejects.toMatchObject({
      code: 'BAD_PROPERTY',
      message: expect.stringMatching(/ got a patch whose "due" is undefined\. .*`unset` to remove it\.$/),
    })
  }
  const { failed } = await issues.byProject.updateWhere({ project: 'p' }, () => none)
  expect(failed).toMatchObject([{ id, error: { code: 'BAD_PROPERTY' } }])
  expect(await issues.get(id)).toEqual(issue)
})

test('a property of a kind that checks nothing is removed by `unset` alone', async () => {
  const store = await openStore()
  const notes = defineKind('note', { schema: typed<{ text: string; due?: Date }>() }).in(store)
  const { id } = await notes.insert({ text: 'a', due: new Date(0) })
  await expect(notes.update(id, { text: undefined } as object)).rejects.toMatchObject({
    code: 'BAD_PROPERTY',
  })
  await notes.update(id, () => ({ due: unset }))
  expect(await store.get(id)).toEqual({ id, _kind: 'note', text: 'a' })
})

test('an edit that returns nothing is refused, and one that returns `unchanged` writes nothing', async () => {
  const issues = Issue.in(await openStore(Issue))
  const { id, version } = await issues.insert(fresh)
  // @ts-expect-error the edit returns nothing
  await expect(issues.update(id, () => {})).rejects.toThrow(
    /update takes a function that returns the properties that change, or `unchanged` .*; got nothing/,
  )
  // @ts-expect-error the edit returns a promise
  await expect(issues.update(id, async () => ({ title: 'B' }))).rejects.toThrow(/update takes a function/)
  expect(await issues.update(id, () => unchanged)).toMatchObject({ title: 'A', version })
})

test('a write with a stale version is refused, also with the version as text', async () => {
  const issues = Issue.in(await openStore(Issue))
  const read = await issues.insert(fresh)
  const { id } = read
  const form = { id, version: String(read.version) }
  const now = await issues.update(form, { title: 'B' })
  for (const stale of [read, form]) {
    await expect(issues.update(stale, { title: 'C' })).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
    await expect(issues.delete(stale)).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
  }
  await expect(issues.update(id, { ...read, title: 'C' })).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
  await expect(issues.put({ ...read, title: 'C' })).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
  expect(await issues.get(id)).toEqual(now)
  expect((await issues.put({ ...now, title: 'C' })).title).toBe('C')
})

test.each([undefined, '', 'x', Number.NaN, 0, -1, null])(
  'a version of %j does not disable the check',
  async (version) => {
    const issues = Issue.in(await openStore(Issue))
    const { id } = await issues.insert(fresh)
    const reference = { id, version: version as number }
    await expect(issues.update(reference, { title: 'B' })).rejects.toMatchObject({ code: 'BAD_OPTION' })
    await expect(issues.delete(reference)).rejects.toMatchObject({ code: 'BAD_OPTION' })
    await expect(issues.put({ ...fresh, ...reference })).rejects.toMatchObject({ code: 'BAD_OPTION' })
    // @ts-expect-error the version is missing
    await expect(issues.update({ id }, { title: 'B' })).rejects.toThrow(
      /an id in an object without a version/,
    )
    expect(await issues.get(id)).toMatchObject({ title: 'A' })
  },
)

test('an unknown option is refused, such as a version in the options', async () => {
  const issues = Issue.in(await openStore(Issue))
  const { id, version } = await issues.insert(fresh)
  const options = { ifVersion: version - 1 } as object
  const calls = [
    () => issues.insert(fresh, options),
    () => issues.put(fresh, options),
    () => issues.update(id, { title: 'B' }, options),
    () => issues.upsert(id, fresh, { title: 'B' }, options),
    () => issues.delete(id, options),
    () => issues.get(id, options),
    () => issues.byProject.page({ project: 'p' }, options),
    () => issues.byProject.updateWhere({ project: 'p' }, { title: 'B' }, options),
  ]
  for (const call of calls) await expect(call()).rejects.toThrow(/has no option "ifVersion"/)
  expect(await issues.get(id)).toMatchObject({ title: 'A', version })
})

test('a value or a patch that is mutated after the call is written as it was', async () => {
  const store = await openStore()
  const lists = defineKind('list', { schema: typed<{ tags: string[] }>() }).in(store)
  const id = store.newId()
  const value = { tags: ['a'] }
  const writes = [lists.put(value, { id }), lists.insert(value)]
  value.tags.push('later')
  for (const { tags } of await Promise.all(writes)) expect(tags).not.toContain('later')
  const patch = { tags: ['b'] }
  const update = lists.update(id, patch)
  patch.tags.push('later')
  await update
  expect(await lists.get(id)).toMatchObject({ tags: ['b'] })
})

test('a patch with a reserved name is refused', async () => {
  const store = await openStore()
  const bags = defineKind('bag', { schema: typed<Record<string, unknown>>() as never }).in(store)
  const { id } = await bags.insert({} as never)
  for (const name of ['_kind', '_version', 'id', 'version']) {
    const change = bags.update(id, () => ({ [name]: 1 }) as never)
    await expect(change).rejects.toMatchObject({
      code: 'BAD_PROPERTY',
      message: `The name "${name}" is reserved: the kind bag cannot have a property with this name.`,
    })
  }
  expect(await store.get(id)).toEqual({ id, _kind: 'bag' })
})

test('an empty patch writes nothing', async () => {
  const issues = Issue.in(await openStore(Issue))
  const { id, version } = await issues.insert(fresh)
  expect((await issues.update(id, {})).version).toBe(version)
  expect((await issues.update(id, () => ({}))).version).toBe(version)
})

test('a version without an id is refused', async () => {
  const issues = Issue.in(await openStore(Issue))
  const { version } = await issues.insert(fresh)
  const form = { ...fresh, id: undefined, version } as unknown as typeof fresh
  await expect(issues.put(form)).rejects.toMatchObject({ code: 'BAD_OPTION' })
})

test('delete of a deleted entity returns false', async () => {
  const issues = Issue.in(await openStore(Issue))
  const issue = await issues.insert(fresh)
  expect(await issues.delete(issue)).toBe(true)
  expect(await issues.delete(issue)).toBe(false)
  expect(await issues.delete(issue.id)).toBe(false)
})

test('a write is refused if the store lacks a unique index of the kind', async () => {
  const store = await openStore()
  const issues = Issue.in(store)
  for (const write of [
    () => issues.insert(fresh),
    () => issues.put(fresh),
    () => issues.update(store.newId(), { title: 'B' }),
  ])
    await expect(write()).rejects.toMatchObject({ code: 'INDEX_NOT_FOUND', index: 'issue_by_title' })
  await store.addIndex(Issue.indexes)
  await issues.insert(fresh)
})

test('an entity of another kind is not found, and not changed', async () => {
  const store = await openStore(Issue, Note)
  const [issues, notes] = [Issue.in(store), Note.in(store)]
  const { id } = await notes.insert({ text: 'hello' })
  expect(await issues.get(id)).toBeUndefined()
  expect([await issues.exists(id), await notes.exists(id)]).toEqual([false, true])
  expect(await issues.getMany([id])).toEqual([undefined])
  expect(await issues.delete(id)).toBe(false)
  await expect(issues.update(id, { title: 'B' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(issues.put({ ...fresh, id })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
  await expect(issues.insert(fresh, { id })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
  expect(await notes.get(id)).toMatchObject({ text: 'hello' })
})

test('put replaces an entity as a whole, or inserts it', async () => {
  const issues = Issue.in(await openStore(Issue))
  const id = issues.store.newId()
  await issues.put({ ...fresh, due: new Date(0) }, { id })
  expect(await issues.put(fresh, { id })).not.toHaveProperty('due')
  expect(await issues.get(id)).not.toHaveProperty('due')
  expect((await issues.put({ ...fresh, title: 'B' })).id).not.toBe(id)
})

test('concurrent upserts insert once, and no increment is lost', async () => {
  const store = await openStore(Issue, Note)
  const counters = defineKind('counter', { schema: typed<{ count: number }>() }).in(store)
  const id = store.newId()
  const counted = await Promise.all(
    Array.from({ length: 20 }, () =>
      counters.upsert(id, { count: 1 }, ({ count }) => ({ count: count + 1 })),
    ),
  )
  expect(counted.map(({ count }) => count).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 20 }, (_, n) => n + 1),
  )
  const note = await Note.in(store).insert({ text: 'hello' })
  await expect(counters.upsert(note.id, { count: 1 }, { count: 2 })).rejects.toMatchObject({
    code: 'ALREADY_EXISTS',
  })
})

test('a call with many entities and `fates` resolves with the fate of each', async () => {
  const issues = Issue.in(await openStore(Issue))
  // Writes of one call run at the same time, so either of two with the same unique key may win.
  await issues.insert({ ...fresh, title: 'taken' })
  const put = await issues.insertMany(
    [
      { ...fresh, title: 'x' },
      { ...fresh, title: '' },
      { ...fresh, title: 'Taken' },
    ],
    { fates: true },
  )
  expect(put.map(({ ok }) => ok)).toEqual([true, false, false])
  const codes = put.map((fate) => (fate.ok ? undefined : (fate.error as { code?: string }).code))
  expect(codes.slice(1)).toEqual(['SCHEMA_MISMATCH', 'DUPLICATE_KEY'])
  const [first] = put
  if (first?.ok !== true) throw new Error('It was put.')
  const missing = issues.store.newId()
  const updated = await issues.updateMany([first.value, missing], { project: 'q' }, { fates: true })
  expect(updated.map(({ ok }) => ok)).toEqual([true, false])
  expect(await issues.deleteMany([first.value.id, missing], { fates: true })).toEqual([
    { ok: true, value: true },
    { ok: true, value: false },
  ])
})

test('a call with many entities rejects with all fates if one fails, and writes the others', async () => {
  const issues = Issue.in(await openStore(Issue))
  const [kept] = await issues.insertMany([fresh])
  const missing = issues.store.newId()
  const calls: readonly (readonly [string, () => Promise<unknown>, RegExp, readonly boolean[]])[] = [
    [
      'insertMany',
      () =>
        issues.insertMany([
          { ...fresh, title: 'x' },
          { ...fresh, title: '' },
        ]),
      /does not fit its schema/,
      [true, false],
    ],
    [
      'putMany',
      () =>
        issues.putMany([
          { ...fresh, title: 'x' },
          { ...fresh, title: 'y' },
        ]),
      /Index issue_by_title is unique/,
      [false, true],
    ],
    [
      'updateMany',
      () => issues.updateMany([kept!, missing], { project: 'q' }),
      /There is no issue/,
      [true, false],
    ],
    ['deleteMany', () => issues.deleteMany([kept!.id, missing, 'none']), /id/, [true, true, false]],
  ]
  for (const [name, call, reason, expected] of calls) {
    const error: unknown = await call().catch((thrown: unknown) => thrown)
    if (!isLooseleafError(error, 'SOME_FAILED')) throw new Error(`${name} has to reject.`)
    const failed = expected.filter((ok) => !ok).length
    expect(error.message).toContain(`${failed} of the ${expected.length} items of ${name} failed. `)
    expect(error.message).toMatch(reason)
    expect([name, error.fates.map(({ ok }) => ok)]).toEqual([name, expected])
  }
  expect(await issues.byTitle.all({ title: 'y' })).toHaveLength(1)
})

test('a call with many entities refuses unknown options, and writes nothing', async () => {
  const issues = Issue.in(await openStore(Issue))
  const options = { fate: true } as object
  await expect(issues.insertMany([fresh], options)).rejects.toThrow(/insertMany has no option "fate"/)
  expect(await issues.byTitle.all({ title: fresh.title })).toEqual([])
})

test('changes include the entities of the kind, and all deletions', async () => {
  const store = await openStore(Issue, Note)
  const issues = Issue.in(store)
  const [issue, note] = [await issues.insert(fresh), await Note.in(store).insert({ text: 'x' })]
  await issues.update(issue.id, { title: 'B' })
  const changes: unknown[] = []
  let last = ''
  for await (const { id, item, version, cursor } of issues.changes({ from: 'beginning', pollMs: 10 })) {
    expect(item === undefined || item.version === version).toBe(true)
    changes.push([id, item?.title])
    last = cursor
    if (changes.length === 2) break
    await store.delete(note.id)
  }
  expect(changes).toEqual([
    [issue.id, 'B'],
    [note.id, undefined],
  ])
  const next = await issues.insert({ ...fresh, title: 'C' })
  for await (const { id } of issues.changes({ from: last, pollMs: 10 })) {
    expect(id).toBe(next.id)
    break
  }
})

test('a call with many entities whose signal has fired rejects with ABORTED, and writes none', async () => {
  const issues = Issue.in(await openStore(Issue))
  const signal = AbortSignal.abort()
  const { id } = await issues.insert(fresh)
  await expect(issues.insertMany([fresh], { signal })).rejects.toMatchObject({ code: 'ABORTED' })
  await expect(issues.putMany([{ ...fresh, id }], { signal, fates: true })).rejects.toMatchObject({
    code: 'ABORTED',
  })
  await expect(issues.deleteMany([id], { signal })).rejects.toMatchObject({ code: 'ABORTED' })
  expect(await issues.byProject.count({ project: 'p' })).toBe(1)
})

test('a signal ends the changes of a kind without an error, before the first one and during a wait', async () => {
  const store = await openStore(Issue)
  const issues = Issue.in(store)
  await issues.insert(fresh)
  const seen: unknown[] = []
  for await (const { item } of issues.changes({ from: 'beginning', signal: AbortSignal.abort() }))
    seen.push(item)
  const aborter = new AbortController()
  for await (const { item } of issues.changes({ from: 'beginning', pollMs: 10, signal: aborter.signal })) {
    seen.push(item?.title)
    setTimeout(() => aborter.abort(), 30)
  }
  expect(seen).toEqual([fresh.title])
})

test('itemOf makes the upgraded item of an entity of the kind, and of no other', async () => {
  const Old = defineKind('note', { schema: typed<{ text: string }>() })
  const New = defineKind('note', {
    schema: typed<{ text: string; size: number }>(),
    upgrades: [({ text }) => ({ text: text!, size: String(text).length })],
  })
  const store = await openStore(Issue)
  const { id } = await Old.in(store).insert({ text: 'Hello' })
  const entity = await store.get(id)
  const notes = New.in(store)
  expect(notes.itemOf(entity!)).toEqual(await notes.get(id))
  expect(notes.itemOf(entity!)).toMatchObject({ id, size: 5, version: metaOf(entity!)!.version })
  expect(Issue.in(store).itemOf(entity!)).toBeUndefined()
  for (const none of [undefined, id, { ...entity }])
    expect(() => notes.itemOf(none as Entity)).toThrow('itemOf takes an entity that a store has read; got')
})
