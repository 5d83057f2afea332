import { beforeEach, expect, test } from 'vitest'
import { fileOf, listed, now, openImportBench, type ImportBench } from '../../../test/import-bench.ts'
import { followId } from '../../kinds/follow.ts'
import { pulledChannelId } from '../../kinds/pulled-channel.ts'
import { entriesOfSource, removeContent } from '../entries/entries.ts'
import { likeEntry, postComment } from '../entries/responses.ts'
import { follow } from '../following/commands.ts'
import { importsOf } from './imports.ts'
import { storeFeed } from './store-feed.ts'
import { undoImport } from './undo-import.ts'

let bench: ImportBench
beforeEach(async () => {
  bench = await openImportBench()
})

test('an import counts the entities that it created, and is not stored if there are none', async () => {
  await bench.importFeed('a', 'b')
  await bench.importFeed('a', 'b')
  expect(await bench.imports()).toEqual([['F', 2, 1]])
})

test('undoing an import deletes all of its entities, which can be imported again', async () => {
  const source = await bench.importFeed('a', 'b', 'c')
  const undone = await undoImport(bench.site.data, await bench.newest(), bench.ann)
  expect(undone).toMatchObject({ entries: 3, sources: 1, keptEntries: 0, import: { title: 'F' } })
  expect([await bench.imports(), await bench.titlesIn(source), await bench.sourceCount()]).toEqual([
    [],
    [],
    0,
  ])
  expect(await bench.importFeed('a', 'b', 'c')).toBe(source)
  expect(await bench.imports()).toEqual([['F', 3, 1]])
  const kinds: unknown[] = []
  for await (const entity of bench.site.store.scan()) kinds.push(entity['_kind'])
  expect(kinds.toSorted()).toEqual(['entry', 'entry', 'entry', 'import', 'service', 'source'])
})

test('undoing an import keeps entries with comments or likes of others, and the import itself', async () => {
  const source = await bench.importFeed('commented', 'liked', 'own', 'none')
  const entries = (await entriesOfSource(bench.site.data, source)).items
  const idOf = (title: string): string => entries.find((entry) => entry.title === title)?.id ?? ''
  for (let i = 0; i < 60; i++)
    await postComment(bench.site.data, { entry_id: idOf('commented'), person_id: bench.ann, text: `${i}` })
  await postComment(bench.site.data, {
    entry_id: idOf('commented'),
    person_id: bench.bob,
    text: 'The last one',
  })
  await likeEntry(bench.site.data, idOf('liked'), bench.bob)
  await postComment(bench.site.data, { entry_id: idOf('own'), person_id: bench.ann, text: 'Mine' })
  await likeEntry(bench.site.data, idOf('own'), bench.ann)
  const id = await bench.newest()
  expect(await undoImport(bench.site.data, id, bench.ann)).toMatchObject({
    entries: 2,
    sources: 0,
    keptEntries: 2,
  })
  expect(await bench.titlesIn(source)).toEqual(['commented', 'liked'])
  expect(await bench.imports()).toEqual([['F', 2, 1]])
  expect(await undoImport(bench.site.data, id, bench.ann)).toMatchObject({ entries: 0, keptEntries: 2 })
  await bench.site.data.entries.delete(idOf('liked'))
  await bench.site.data.entries.delete(idOf('commented'))
  expect(await undoImport(bench.site.data, id, bench.ann)).toMatchObject({
    entries: 0,
    sources: 1,
    keptEntries: 0,
  })
  expect([await bench.imports(), await bench.sourceCount()]).toEqual([[], 0])
})

test('undoing an import hands a source with entries of another import to that import', async () => {
  const source = await bench.importFeed('a')
  const first = await bench.newest()
  await bench.importFeed('a', 'b')
  const second = (await importsOf(bench.site.data, bench.ann)).items.find(({ id }) => id !== first)?.id ?? ''
  expect(await undoImport(bench.site.data, first, bench.ann)).toMatchObject({
    entries: 1,
    sources: 0,
    keptEntries: 0,
  })
  expect([await bench.titlesIn(source), await bench.sourceCount()]).toEqual([['b'], 1])
  expect(await undoImport(bench.site.data, first, bench.ann)).toBeUndefined()
  expect(await undoImport(bench.site.data, second, bench.ann)).toMatchObject({ entries: 1, sources: 1 })
  expect(await bench.sourceCount()).toBe(0)
})

test('undoing a list keeps the sources that have entries by now, or that others follow', async () => {
  await bench.importList(250, { follow: false })
  expect(await bench.imports()).toEqual([['My list', 0, 250]])
  const [filled, followed, own] = [listed(7), listed(8), listed(9)]
  await bench.fetchItem(filled)
  await Promise.all([follow(bench.site.data, bench.bob, followed), follow(bench.site.data, bench.ann, own)])
  expect(await undoImport(bench.site.data, await bench.newest(), bench.ann)).toMatchObject({
    entries: 0,
    sources: 248,
  })
  expect(await bench.titlesIn(filled)).toEqual(['a'])
  expect(await bench.site.data.sources.exists(followed)).toBe(true)
  expect(await bench.site.data.follows.byChannel.all({ channel_id: own })).toEqual([])
  expect(await bench.imports()).toEqual([])
})

test('an import follows the sources of a list in its order, and brings the entries that are there', async () => {
  await bench.importList(3, { follow: false })
  expect(await bench.followedBy(bench.ann)).toEqual([])
  const [entry, pulled] = [await bench.fetchItem(listed(1)), listed(2)]
  await bench.fetchItem(pulled)
  await bench.site.data.pulledChannels.insert(
    { channel_id: pulled, state: 'pulled', turn: 1, next_count: now },
    { id: pulledChannelId(pulled) },
  )
  for (let i = 0; i < 2; i++) {
    expect(await bench.importList(120)).toEqual({
      added: i === 0 ? 117 : 0,
      known: i === 0 ? 3 : 120,
      followed: true,
    })
    expect(await bench.followedBy(bench.ann)).toEqual(Array.from({ length: 120 }, (_, at) => listed(at)))
    expect(await bench.inboxOf(bench.ann)).toEqual([entry])
    expect(await bench.site.data.follows.get(followId(bench.ann, pulled))).toMatchObject({
      pulled_by: bench.ann,
    })
  }
})

test('a second import completes the follows of an interrupted one', async () => {
  await bench.importList(1, { follow: false })
  const entry = await bench.fetchItem(listed(0))
  const { follows, inbox } = bench.site.data
  let writes = 0
  const insert: typeof follows.insert = (...args) => {
    if (++writes > 70) throw new Error('The process ends here.')
    return follows.insert(...args)
  }
  const insertMany = (): never => {
    throw new Error('The process ends here.')
  }
  const data = {
    ...bench.site.data,
    follows: { ...follows, insert },
    inbox: { ...inbox, insertMany },
  } as unknown as typeof bench.site.data
  await expect(bench.importList(120, { data })).rejects.toThrow('The process ends here.')
  expect(await bench.inboxOf(bench.ann)).toEqual([])
  expect(await bench.importList(120)).toMatchObject({ known: 120 })
  expect(await bench.followedBy(bench.ann)).toHaveLength(120)
  expect(await bench.inboxOf(bench.ann)).toEqual([entry])
})

test('undoing a list leaves no follow and no inbox item of a deleted source, also after an interruption', async () => {
  await bench.importList(4)
  const [gone, stays] = [listed(1), listed(2)]
  const [removed, kept] = [await bench.fetchItem(gone), await bench.fetchItem(stays)]
  await Promise.all([gone, stays].map((source) => follow(bench.site.data, bench.ann, source)))
  await removeContent(bench.site.data, removed, { by: gone, at: now })
  expect((await bench.inboxOf(bench.ann)).toSorted()).toEqual([removed, kept].toSorted())
  const id = await bench.newest()
  const { inbox } = bench.site.data
  const deleteMany = (): never => {
    throw new Error('The process ends here.')
  }
  const data = { ...bench.site.data, inbox: { ...inbox, deleteMany } } as unknown as typeof bench.site.data
  await expect(undoImport(data, id, bench.ann)).rejects.toThrow('The process ends here.')
  expect(await undoImport(bench.site.data, id, bench.ann)).toMatchObject({ entries: 0, sources: 3 })
  expect(await bench.followedBy(bench.ann)).toEqual([stays])
  expect(await bench.inboxOf(bench.ann)).toEqual([kept])
  expect(await bench.imports()).toEqual([])
})

test('undoing another person’s or a missing import does nothing', async () => {
  const source = await bench.importFeed('a')
  expect(await undoImport(bench.site.data, await bench.newest(), bench.bob)).toBeUndefined()
  expect(await undoImport(bench.site.data, bench.site.store.newId(), bench.ann)).toBeUndefined()
  expect(await undoImport(bench.site.data, source, bench.ann)).toBeUndefined()
  expect(await bench.titlesIn(source)).toEqual(['a'])
})

test('an import whose process dies after an undo can be undone again, which leaves nothing', async () => {
  const { data } = bench.site
  const insertMany = async (values: Parameters<typeof data.entries.insertMany>[0]) => {
    await undoImport(data, await bench.newest(), bench.ann, () => now)
    await data.entries.insertMany(values, { fates: true })
    throw new Error('The process dies.')
  }
  const dying = { ...data, entries: { ...data.entries, insertMany } } as unknown as typeof data
  await expect(storeFeed(dying, fileOf('a', 'b'), bench.ann, now)).rejects.toThrow('The process dies.')
  expect(await bench.imports()).toEqual([['A feed', 0, 0]])
  const again = await undoImport(data, await bench.newest(), bench.ann, () => now)
  expect(again).toMatchObject({ entries: 2, mayGoOn: false })
  const kinds: unknown[] = []
  for await (const entity of bench.site.store.scan()) kinds.push(entity['_kind'])
  expect(kinds).toEqual([])
})

test('a single undo deletes an import that was interrupted long ago', async () => {
  const { data } = bench.site
  const insertMany = async (): Promise<never> => {
    throw new Error('The process dies.')
  }
  const dying = { ...data, entries: { ...data.entries, insertMany } } as unknown as typeof data
  await expect(storeFeed(dying, fileOf('a'), bench.ann, now)).rejects.toThrow('The process dies.')
  const later = new Date(now.getTime() + 3_600_000)
  await undoImport(data, await bench.newest(), bench.ann, () => later)
  expect(await bench.imports()).toEqual([])
})
