import { memoryShards } from 'looseleaf'
import { beforeAll, expect, test } from 'vitest'
import { deliver } from '../../delivery/deliver.ts'
import { INBOX_KEPT } from '../../domain/home/trim-inbox.ts'
import { hybrid } from '../../delivery/strategy.ts'
import { postEntry } from '../../domain/entries/entries.ts'
import { likeEntry, postComment } from '../../domain/entries/responses.ts'
import { itemOf } from '../../domain/home/commands.ts'
import { openSite, type Site } from '../../domain/site/site.ts'
import { inboxItemId } from '../../kinds/inbox-item.ts'
import { seedCrew, type Crew } from '../crew/crew.ts'
import type { Made } from '../traffic/play.ts'
import { verify, type Verdict } from './verify.ts'

let site: Site
let crew: Crew
let made: Made
const now = (): Date => new Date()

/** A site with an entry that is delivered, commented and liked. */
beforeAll(async () => {
  site = await openSite({ shards: memoryShards(2), cleaner: false })
  crew = await seedCrew(site, { seed: 1, people: 1, readers: 5, follows: 1, publishers: [] })
  const { data } = site
  const [person = ''] = crew.people
  const id = await postEntry(data, { person_id: person, title: 'Tea', link: undefined })
  const entry = await data.entries.get(id)
  if (entry === undefined) throw new Error('There is no entry.')
  await deliver(data, entry, hybrid(), now)
  const comment = await postComment(data, { entry_id: id, person_id: person, text: 'With milk' })
  await likeEntry(data, id, person)
  made = {
    entries: [{ id, person, source: undefined, isAcknowledged: true }],
    comments: [{ entryId: id, id: comment ?? '', isAcknowledged: true }],
    likes: [{ entryId: id, id: person, isAcknowledged: true }],
  }
  return () => site.close()
})

const faults = ({ missing, double, gone, miscounted }: Verdict) => ({ missing, double, gone, miscounted })
const none = { missing: 0, double: 0, gone: 0, miscounted: 0 }

test('a whole day has no faults', async () => {
  const verdict = await verify(site.data, crew, made)
  expect(faults(verdict)).toEqual(none)
  expect(verdict).toMatchObject({ expected: 6, delivered: 6, comments: 1, likes: 1, posts: 1 })
})

test('a row that is not there, one of a stranger, a wrong number and a lost form are found', async () => {
  const { data, store } = site
  const id = made.entries[0]?.id ?? ''
  const entry = await data.entries.update(id, { comments: 2 })
  expect(faults(await verify(data, crew, made))).toEqual({ ...none, miscounted: 1 })
  await data.entries.update(id, { comments: 1 })
  const stranger = store.newId()
  const item = itemOf(entry, stranger, [], now())
  await data.inbox.insert(item, { id: inboxItemId(stranger, id) })
  expect(faults(await verify(data, crew, made))).toEqual({ ...none, double: 1 })
  await data.inbox.insert(item, { id: store.newId({ near: stranger }) })
  expect(faults(await verify(data, crew, made))).toEqual({ ...none, double: 2 })
  await data.inbox.byPerson.deleteWhere({ person_id: stranger })
  const [reader = ''] = crew.readers
  await data.inbox.delete(inboxItemId(reader, id))
  // The row is missing, and so is the entry on the home.
  expect((await verify(data, crew, made)).missing).toBeGreaterThan(0)
  const lost = { id: store.newId(), person: crew.people[0], source: undefined, isAcknowledged: true }
  expect((await verify(data, crew, { ...made, entries: [lost] })).gone).toBeGreaterThan(0)
})

test('a row that a long inbox has lost to newer ones is trimmed, and not missing', async () => {
  const { data, store } = site
  const [reader = ''] = crew.readers
  const { trimmed, missing, expected } = await verify(data, crew, made)
  await data.inbox.byPerson.deleteWhere({ person_id: reader })
  const later = new Date(Date.now() + 60_000)
  const entry = { channel_id: reader, arrived: later, bumped: later, media_kind: 'text' } as const
  const items = Array.from({ length: INBOX_KEPT }, () => {
    const id = store.newId()
    return { id: inboxItemId(reader, id), ...itemOf({ ...entry, id }, reader, [], later) }
  })
  await data.inbox.insertMany(items)
  const verdict = await verify(data, crew, made)
  expect([verdict.trimmed, verdict.expected]).toEqual([trimmed + 1, expected - 1])
  expect(verdict.missing).toBeLessThanOrEqual(missing)
  await data.inbox.delete(items[0]!.id)
  expect((await verify(data, crew, made)).trimmed).toBe(trimmed)
})
