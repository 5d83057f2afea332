import { LooseleafError, memoryShards } from 'looseleaf'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Entry } from '../../kinds/entry.ts'
import { likeId } from '../../kinds/ids.ts'
import { createShardFaults, type Refuse } from '../../stage/faults/shard-faults.ts'
import { openSite, type Site } from '../site/site.ts'
import { deleteEntry, editEntry, entriesOfPerson, postEntry, removeContent, removeEntry } from './entries.ts'
import { freshEntry } from './fresh-entry.ts'
import { likeEntry, postComment } from './responses.ts'

let site: Site
beforeEach(async () => {
  site = await openSite({ shards: memoryShards(3), cleaner: false })
})
afterEach(() => site.close())

test('the pages of a person have the messages and the entries of services once each, by time, while the person posts', async () => {
  const { data, store } = site
  const [person = '', stranger = '', ...services] = Array.from({ length: 5 }, () => store.newId())
  // Two thirds of the entries have one of two times, so that a page begins among more entries of the same time than it has.
  const timeOf = (i: number): Date => new Date(1_700_000_000_000 + (i % 3 === 0 ? i * 500 : (i % 2) * 40_000))
  const origins = [
    { person_id: person },
    ...services.map((source_id) => ({ source_id })),
    // The person has imported a file of a service.
    { person_id: person, source_id: services[0] as string },
    { person_id: stranger },
    // The person has imported a file of a source and does not publish through it any more.
    { person_id: person, source_id: store.newId() },
  ]
  const facts = Array.from({ length: 210 }, (_, i) => {
    const published = timeOf(i)
    return freshEntry({ title: `${i}`, published, ...origins[i % origins.length] }, new Date())
  })
  const entries = await data.entries.insertMany(facts)
  const channels = new Set<string | undefined>([person, ...services])
  const expected = entries
    .filter(({ channel_id }) => channels.has(channel_id))
    .toSorted((a, b) => b.published.getTime() - a.published.getTime() || (a.id < b.id ? 1 : -1))
    .map(({ id }) => id)
  const pages: string[][] = []
  let cursor: string | undefined
  do {
    const page = await entriesOfPerson(data, person, services, cursor)
    pages.push(page.items.map(({ id }) => id))
    ;({ cursor } = page)
    await postEntry(data, { person_id: person, title: 'Newer', link: undefined })
  } while (cursor !== undefined)
  expect(pages.flat()).toEqual(expected)
  expect(pages.map(({ length }) => length)).toEqual([20, 20, 20, 20, 20, 20, 20, 10])
})

test('an entry that is removed leaves the page of its person', async () => {
  const { data, store } = site
  const [person, source_id] = [store.newId(), store.newId()]
  const published = new Date()
  const entries = await data.entries.insertMany(
    ['stays', 'goes'].map((title) => freshEntry({ title, published, source_id }, published)),
  )
  const id = entries.find(({ title }) => title === 'goes')?.id ?? ''
  await removeContent(data, id, { by: source_id, at: published })
  const { items } = await entriesOfPerson(data, person, [source_id])
  expect(items.map(({ title }) => title)).toEqual(['stays'])
})

test('a comment whose form has the id of its entry gets an id of its own', async () => {
  const { data, store } = site
  const person_id = store.newId()
  const entry_id = await postEntry(data, { person_id, title: 'Mine', link: undefined })
  for (const once of [entry_id, entry_id.toUpperCase()]) {
    const id = await postComment(data, { entry_id, person_id, text: 'Hello' }, { once })
    expect((await data.comments.get(id ?? ''))?.entry_id).toBe(entry_id)
  }
  expect(await data.entries.get(entry_id)).toMatchObject({ title: 'Mine', comments: 2 })
})

test('a comment form that is sent twice comments once, also on an entry whose id does not show its bucket', async () => {
  const { data, store } = site
  const entry_id = '01234567-89ab-8cde-8f01-23456789abcd'
  const person_id = store.newId()
  const now = new Date()
  await data.entries.insert(freshEntry({ title: 'Here', published: now, person_id }, now), { id: entry_id })
  const once = store.newId({ near: entry_id })
  const ids: unknown[] = []
  for (let i = 0; i < 2; i++)
    ids.push(await postComment(data, { entry_id, person_id, text: 'Hello' }, { once }))
  expect(ids).toEqual([once, once])
})

test('an edit that overlaps a removal does not bring the content back', async () => {
  const { data, store } = site
  const person_id = store.newId()
  for (let i = 0; i < 10; i++) {
    const id = await postEntry(data, { person_id, title: 'First', link: undefined })
    const edited = { title: 'Second', link: 'https://example.org/', edition: '' }
    await Promise.all([
      removeEntry(data, id, person_id, new Date()),
      editEntry(data, id, person_id, edited, new Date()),
    ])
    const { title, link, terms, removed } = (await data.entries.get(id)) ?? {}
    expect({ title, link, terms, by: removed?.by }).toEqual({ title: '', by: person_id })
  }
})

test('a deletion that is cut off before any of its calls leaves an entry with all of its answers, or nothing', async () => {
  const { shards, refusals } = createShardFaults(memoryShards(2))
  const breakable = await openSite({ shards, cleaner: false })
  onTestFinished(() => breakable.close())
  const { entries, comments, likes } = breakable.data
  const person_id = breakable.store.newId()
  let isCutOff = true
  for (let calls = 0; isCutOff; calls++) {
    const entry_id = await postEntry(breakable.data, { person_id, title: 'Entry', link: undefined })
    const comment = { entry_id, person_id, text: 'Comment' }
    const ids = [await postComment(breakable.data, comment), await postComment(breakable.data, comment)]
    await likeEntry(breakable.data, entry_id, person_id)
    const entry = (await entries.get(entry_id)) as Entry
    let count = 0
    const refuse: Refuse = () =>
      count++ < calls ? undefined : new LooseleafError('SHARD_UNAVAILABLE', 'The process was killed.')
    refusals.add(refuse)
    isCutOff = await deleteEntry(breakable.data, entry).then(
      () => false,
      () => true,
    )
    refusals.delete(refuse)
    const present = await Promise.all([
      entries.exists(entry_id),
      ...ids.map((id) => comments.exists(id as string)),
      likes.exists(likeId(entry_id, person_id)),
    ])
    expect([calls, new Set(present).size]).toEqual([calls, 1])
    if (present.includes(true)) expect(await deleteEntry(breakable.data, entry)).toBe(true)
  }
})

test('deleting an entry deletes more answers than a batch can have', async () => {
  const { data } = site
  const person_id = site.store.newId()
  const entry_id = await postEntry(data, { person_id, title: 'Entry', link: undefined })
  for (let i = 0; i < 100; i++) await postComment(data, { entry_id, person_id, text: `${i}` })
  expect(await deleteEntry(data, (await data.entries.get(entry_id)) as Entry)).toBe(true)
  expect(await data.comments.byEntry.all({ entry_id })).toEqual([])
})
