import { beforeEach, expect, test } from 'vitest'
import { fileOf, listed, now, openImportBench, type ImportBench } from '../../../test/import-bench.ts'
import { endLease, type LeasedSource } from '../../crawler/due.ts'
import { entriesOfSource } from '../entries/entries.ts'
import { addService, follow } from '../following/commands.ts'
import { postComment } from '../entries/responses.ts'
import type { ParsedFeed } from '../../feeds/parse/parsed-feed.ts'
import { ImportUndone } from './import-record.ts'
import { importsOf } from './imports.ts'
import { storeFeed } from './store-feed.ts'
import { undoImport } from './undo-import.ts'

let bench: ImportBench
beforeEach(async () => {
  bench = await openImportBench()
})

test('undoing a list keeps a source that is being fetched, and the import until the fetch has ended', async () => {
  await bench.importList(3)
  const id = await bench.newest()
  const [fetched, ...others] = await bench.takeAll()
  await Promise.all(others.map((source) => endLease(bench.site.data, source, { next_check: now })))
  expect(await undoImport(bench.site.data, id, bench.ann, () => now)).toMatchObject({
    sources: 2,
    sourcesBeingFetched: 1,
  })
  expect(await bench.followedBy(bench.ann)).toEqual([fetched!.id])
  expect(await bench.imports()).toEqual([['My list', 0, 1]])
  await endLease(bench.site.data, fetched!, { next_check: now })
  expect(await undoImport(bench.site.data, id, bench.ann, () => now)).toMatchObject({
    sources: 1,
    sourcesBeingFetched: 0,
  })
  expect([await bench.sourceCount(), await bench.followedBy(bench.ann), await bench.imports()]).toEqual([
    0,
    [],
    [],
  ])
})

test('undoing a list keeps a source whose fetch begins during the undo, and its follow', async () => {
  await bench.importList(1)
  const { follows } = bench.site.data
  async function* each(where: { readonly channel_id: string }) {
    yield* follows.byChannel.each(where)
    expect(await bench.takeAll()).toHaveLength(1)
  }
  const data = {
    ...bench.site.data,
    follows: { ...follows, byChannel: { ...follows.byChannel, each } },
  } as unknown as typeof bench.site.data
  expect(await undoImport(data, await bench.newest(), bench.ann, () => now)).toMatchObject({
    sources: 0,
    sourcesBeingFetched: 1,
  })
  expect([await bench.sourceCount(), await bench.followedBy(bench.ann)]).toEqual([1, [listed(0)]])
})

test('no fetch of a source begins while an undo deletes it', async () => {
  await bench.importList(1)
  const { inbox } = bench.site.data
  const taken: LeasedSource[] = []
  const page: typeof inbox.byPerson.page = async (...args) => {
    taken.push(...(await bench.takeAll()))
    return inbox.byPerson.page(...args)
  }
  const data = {
    ...bench.site.data,
    inbox: { ...inbox, byPerson: { ...inbox.byPerson, page } },
  } as unknown as typeof bench.site.data
  expect(await undoImport(data, await bench.newest(), bench.ann, () => now)).toMatchObject({ sources: 1 })
  expect(taken).toEqual([])
})

test('two undos of a list at the same time delete all of its sources, and neither takes them for sources that are fetched', async () => {
  for (let round = 0; round < 5; round++) {
    await bench.importList(20)
    const id = await bench.newest()
    const undone = await Promise.all([1, 2].map(() => undoImport(bench.site.data, id, bench.ann)))
    for (const each of undone)
      expect(each ?? { sourcesBeingFetched: 0 }).toMatchObject({ sourcesBeingFetched: 0 })
    expect([await bench.sourceCount(), await bench.followedBy(bench.ann), await bench.imports()]).toEqual([
      0,
      [],
      [],
    ])
  }
})

test('a source whose schedule changes while an undo deletes it is deleted', async () => {
  await bench.importList(3)
  const { sources, inbox } = bench.site.data
  let pages = 0
  const page: typeof inbox.byPerson.page = async (...args) => {
    if (pages++ === 0) await sources.update(listed(1), { next_check: now })
    return inbox.byPerson.page(...args)
  }
  const data = {
    ...bench.site.data,
    inbox: { ...inbox, byPerson: { ...inbox.byPerson, page } },
  } as unknown as typeof bench.site.data
  expect(await undoImport(data, await bench.newest(), bench.ann)).toMatchObject({
    sources: 3,
    sourcesBeingFetched: 0,
  })
  expect([await bench.sourceCount(), await bench.followedBy(bench.ann), await bench.imports()]).toEqual([
    0,
    [],
    [],
  ])
})

test('a follow that another person begins while an undo deletes its source goes with it', async () => {
  await bench.importList(1)
  const { inbox } = bench.site.data
  const page: typeof inbox.byPerson.page = async (...args) => {
    await follow(bench.site.data, bench.bob, listed(0))
    await addService(bench.site.data, bench.bob, listed(0))
    return inbox.byPerson.page(...args)
  }
  const data = {
    ...bench.site.data,
    inbox: { ...inbox, byPerson: { ...inbox.byPerson, page } },
  } as unknown as typeof bench.site.data
  expect(await undoImport(data, await bench.newest(), bench.ann)).toMatchObject({ sources: 1 })
  await expectComplete()
})

/** Expects that all entries have a source, and that undoing all imports leaves nothing. */
async function expectComplete(...titles: string[]): Promise<void> {
  const found = await bench.site.data.entries.byTime.all({}, { scatter: true })
  expect(found.map(({ title }) => title).toSorted()).toEqual(titles)
  for (const { source_id } of found) expect(await bench.site.data.sources.exists(source_id ?? '')).toBe(true)
  for (const { id } of (await importsOf(bench.site.data, bench.ann)).items)
    await undoImport(bench.site.data, id, bench.ann)
  const kinds: unknown[] = []
  for await (const entity of bench.site.store.scan()) kinds.push(entity['_kind'])
  expect(kinds).toEqual([])
}

test('a file that is imported again while the undo of its first import deletes the source keeps the source', async () => {
  await storeFeed(bench.site.data, fileOf('a'), bench.ann, now)
  const { inbox } = bench.site.data
  let pages = 0
  const page: typeof inbox.byPerson.page = async (...args) => {
    if (pages++ === 0) await storeFeed(bench.site.data, fileOf('b'), bench.ann, now)
    return inbox.byPerson.page(...args)
  }
  const data = {
    ...bench.site.data,
    inbox: { ...inbox, byPerson: { ...inbox.byPerson, page } },
  } as unknown as typeof bench.site.data
  expect(await undoImport(data, await bench.newest(), bench.ann)).toMatchObject({ entries: 1, sources: 0 })
  await expectComplete('b')
})

test('a file has its source and service again if the undo of an earlier import deletes them before its entries come', async () => {
  const { data } = bench.site
  await storeFeed(data, fileOf('a'), bench.ann, now)
  const earlier = await bench.newest()
  const { entries } = data
  const insertMany = async (values: Parameters<typeof entries.insertMany>[0]) => {
    await undoImport(data, earlier, bench.ann)
    return entries.insertMany(values, { fates: true })
  }
  const overlapped = { ...data, entries: { ...entries, insertMany } } as unknown as typeof data
  const { sourceId } = await storeFeed(overlapped, fileOf('b'), bench.ann, now)
  expect(await data.services.byPerson.all({ person_id: bench.ann })).toMatchObject([{ source_id: sourceId }])
  await expectComplete('b')
})

test.each(['before', 'after'])(
  'an import stops at an undo that comes %s its second batch of entries is written, and leaves nothing',
  async (moment) => {
    const { data } = bench.site
    const { entries } = data
    let batches = 0
    const insertMany = async (values: Parameters<typeof entries.insertMany>[0]) => {
      const undo = async (): Promise<unknown> =>
        ++batches === 2 ? undoImport(data, await bench.newest(), bench.ann) : undefined
      if (moment === 'before') await undo()
      const fates = await entries.insertMany(values, { fates: true })
      if (moment === 'after') await undo()
      return fates
    }
    const overlapped = { ...data, entries: { ...entries, insertMany } } as unknown as typeof data
    const file = fileOf(...Array.from({ length: 900 }, (_, i) => `${i}`))
    await expect(storeFeed(overlapped, file, bench.ann, now)).rejects.toThrow(ImportUndone)
    expect(batches).toBe(2)
    await expectComplete()
  },
)

test('an import stops at an undo before it changes entries of an earlier import', async () => {
  const { data } = bench.site
  const titles = Array.from({ length: 600 }, (_, i) => `${i}`)
  const edited = (file: ParsedFeed): ParsedFeed => ({
    ...file,
    items: file.items.map((item) => ({ ...item, body: 'Edited' })),
  })
  // The newest items of the second import are new; the last batch has changes only.
  await storeFeed(data, fileOf(...titles.slice(100)), bench.ann, now)
  const earlier = await bench.newest()
  const { entries } = data
  const insertMany = async (values: Parameters<typeof entries.insertMany>[0]) => {
    const fates = await entries.insertMany(values, { fates: true })
    for (const { id } of (await importsOf(data, bench.ann)).items)
      if (id !== earlier) await undoImport(data, id, bench.ann)
    return fates
  }
  const overlapped = { ...data, entries: { ...entries, insertMany } } as unknown as typeof data
  const importing = storeFeed(overlapped, edited(fileOf(...titles)), bench.ann, now)
  await expect(importing).rejects.toThrow(ImportUndone)
  const stored = await data.entries.byTime.all({}, { scatter: true })
  expect(stored).toHaveLength(500)
  expect(stored.filter(({ body }) => body === 'Edited')).toHaveLength(150)
})

test('undoing an import keeps an entry on which another person comments while it looks for comments', async () => {
  const source = await bench.importFeed('a', 'b')
  const entry = (await entriesOfSource(bench.site.data, source)).items.find(({ title }) => title === 'a')
  const { comments, likes } = bench.site.data
  const looked = Promise.withResolvers<void>()
  async function* eachComment(where: { readonly entry_id: string }) {
    yield* comments.byEntry.each(where)
    if (where.entry_id === entry?.id) looked.resolve()
  }
  async function* eachLike(where: { readonly entry_id: string }) {
    if (where.entry_id === entry?.id) {
      await looked.promise
      await postComment(bench.site.data, { entry_id: entry.id, person_id: bench.bob, text: 'Just now' })
    }
    yield* likes.byEntry.each(where)
  }
  const data = {
    ...bench.site.data,
    comments: { ...comments, byEntry: { ...comments.byEntry, each: eachComment } },
    likes: { ...likes, byEntry: { ...likes.byEntry, each: eachLike } },
  } as unknown as typeof bench.site.data
  expect(await undoImport(data, await bench.newest(), bench.ann)).toMatchObject({
    entries: 1,
    keptEntries: 1,
  })
  expect(await bench.titlesIn(source)).toEqual(['a'])
  expect(await bench.site.data.comments.byEntry.all({ entry_id: entry?.id ?? '' })).toMatchObject([
    { text: 'Just now' },
  ])
})

test('a list whose import is undone before it has ended follows no source, and leaves none', async () => {
  const { data } = bench.site
  const insertMany = async (values: Parameters<typeof data.sources.insertMany>[0]) => {
    const fates = await data.sources.insertMany(values, { fates: true })
    await undoImport(data, await bench.newest(), bench.ann)
    return fates
  }
  const overlapped = { ...data, sources: { ...data.sources, insertMany } } as unknown as typeof data
  await expect(bench.importList(500, { data: overlapped })).rejects.toThrow(ImportUndone)
  expect([await bench.sourceCount(), await bench.followedBy(bench.ann), await bench.imports()]).toEqual([
    0,
    [],
    [],
  ])
})

test('an import deletes its entries that come after an undo has looked for them', async () => {
  const { data } = bench.site
  await storeFeed(data, fileOf('a'), bench.ann, now)
  const [begun, looked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const insertMany = async (values: Parameters<typeof data.entries.insertMany>[0]) => {
    begun.resolve()
    await looked.promise
    return data.entries.insertMany(values, { fates: true })
  }
  const slow = { ...data, entries: { ...data.entries, insertMany } } as unknown as typeof data
  const importing = storeFeed(slow, fileOf('b'), bench.ann, new Date(now.getTime() + 1))
  const stopped = importing.catch((error: unknown) => error)
  await begun.promise
  const { byImport } = data.entries
  const page: typeof byImport.page = async (...args) => {
    const found = await byImport.page(...args)
    looked.resolve()
    expect(await stopped).toBeInstanceOf(ImportUndone)
    return found
  }
  const late = {
    ...data,
    entries: { ...data.entries, byImport: { ...byImport, page } },
  } as unknown as typeof data
  await undoImport(late, await bench.newest(), bench.ann)
  await expectComplete('a')
})
