import { memoryShards } from 'looseleaf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MAX_SERVICES } from '../../kinds/service.ts'
import { bringItems } from '../home/bring-items.ts'
import { freshEntry } from '../entries/fresh-entry.ts'
import { addSources } from '../sources/add-sources.ts'
import { openSite, type Site } from '../site/site.ts'
import { addService, follow, removeService, unfollow } from './commands.ts'
import { channelsFollowedBy, followingOf, isService, servicesOf } from './queries.ts'

let site: Site
let ann: string
let bob: string
let source: string
beforeEach(async () => {
  site = await openSite({ shards: memoryShards(3), cleaner: false })
  const people = await site.data.people.insertMany(
    ['ann', 'bob'].map((name) => ({ name, full_name: name, bio: '', hue: 1, joined: new Date() })),
  )
  ;[ann = '', bob = ''] = people.map(({ id }) => id)
  const added = await addSources(site.data, [{ address: 'https://example.org/feed.xml' }], { personId: bob })
  source = added[0]!.id
})
afterEach(() => site.close())

const ago = (seconds: number): Date => new Date(Date.now() - seconds * 1000)

async function postBy(person_id: string, count: number): Promise<void> {
  await site.data.entries.insertMany(
    Array.from({ length: count }, (_, i) =>
      freshEntry({ title: `Entry ${i}`, person_id, published: ago(i) }, ago(i)),
    ),
  )
}

const inboxOf = (person_id: string): Promise<number> => site.data.inbox.byPerson.count({ person_id })

test('following is idempotent, also by calls at the same time', async () => {
  await postBy(bob, 3)
  await Promise.all(Array.from({ length: 6 }, () => follow(site.data, ann, bob)))
  expect(await followingOf(site.data, bob, ann)).toEqual({ followers: 1, followed: true })
  expect((await channelsFollowedBy(site.data, ann)).items).toHaveLength(1)
  expect(await inboxOf(ann)).toBe(3)
})

test('a new follower gets at most the 100 newest entries', async () => {
  await postBy(bob, 103)
  await follow(site.data, ann, bob)
  const count = await inboxOf(ann)
  expect(count).toBeGreaterThan(0)
  expect(count).toBeLessThanOrEqual(100)
})

test('entries of the services of a followed person come too', async () => {
  await addService(site.data, bob, source)
  const fromFeed = freshEntry({ title: 'By a feed', source_id: source, published: ago(0) }, ago(0))
  await site.data.entries.insert(fromFeed)
  await follow(site.data, ann, bob)
  expect(await inboxOf(ann)).toBe(1)
})

test('unfollowing keeps what has arrived, or removes it', async () => {
  await postBy(bob, 3)
  await follow(site.data, ann, bob)
  await unfollow(site.data, ann, bob, { removeEntries: false })
  expect(await inboxOf(ann)).toBe(3)
  expect(await followingOf(site.data, bob, ann)).toEqual({ followers: 0, followed: false })
  await follow(site.data, ann, bob)
  await unfollow(site.data, ann, bob, { removeEntries: true })
  await unfollow(site.data, ann, bob, { removeEntries: true })
  expect(await inboxOf(ann)).toBe(0)
})

test('a follow of oneself, or of a channel that does not exist, is refused', async () => {
  expect(await follow(site.data, ann, ann)).toBeUndefined()
  expect(await follow(site.data, ann, site.store.newId())).toBeUndefined()
  expect((await channelsFollowedBy(site.data, ann)).items).toEqual([])
  expect(await followingOf(site.data, ann, ann)).toEqual({ followers: 0, followed: undefined })
})

test.each(['follows', 'services'] as const)(
  'a source that is deleted at that moment adds nothing to the %s',
  async (name) => {
    const { data } = site
    const kind = data[name] as (typeof data)['follows']
    const insert: typeof kind.insert = async (...args) => {
      await data.sources.delete(source)
      return kind.insert(...args)
    }
    const late = { ...data, [name]: { ...kind, insert } } as unknown as typeof data
    if (name === 'follows') expect(await follow(late, ann, source)).toBeUndefined()
    else expect(await addService(late, ann, source)).toBe(false)
    expect(await kind.byPerson.all({ person_id: ann })).toEqual([])
  },
)

test('the list of followed channels has people and sources, latest first, without deleted ones', async () => {
  await follow(site.data, ann, bob, new Date(1_000_000))
  await follow(site.data, ann, source, new Date(2_000_000))
  const types = async (): Promise<string[]> =>
    (await channelsFollowedBy(site.data, ann)).items.map(({ type }) => type)
  expect(await types()).toEqual(['source', 'person'])
  await site.data.sources.delete(source)
  expect(await types()).toEqual(['person'])
})

test('a service is added once, listed and removed', async () => {
  expect(await Promise.all([1, 2].map(() => addService(site.data, bob, source)))).toEqual([true, true])
  expect((await servicesOf(site.data, bob)).map(({ id }) => id)).toEqual([source])
  expect(await isService(site.data, bob, source)).toBe(true)
  await removeService(site.data, bob, source)
  await removeService(site.data, bob, source)
  expect(await servicesOf(site.data, bob)).toEqual([])
  expect(await addService(site.data, bob, site.store.newId())).toBe(false)
})

test('a person publishes through a bounded number of sources', async () => {
  await site.data.services.insertMany(
    Array.from({ length: MAX_SERVICES }, () => ({
      person_id: bob,
      source_id: site.store.newId(),
      added: new Date(),
    })),
  )
  expect(await addService(site.data, bob, source)).toBe(false)
})

test('an entry that another channel brings while its channel is unfollowed stays', async () => {
  const { data } = site
  await postBy(bob, 1)
  await follow(data, ann, bob)
  const [item] = await data.inbox.byPerson.all({ person_id: ann })
  const { inbox } = data
  let isBrought = false
  /** Another channel brings the entry after the page was read. */
  const page: typeof inbox.byPerson.page = async (...args) => {
    const found = await inbox.byPerson.page(...args)
    if (!isBrought) await bringItems(data, [{ ...item!, via: [source] }])
    isBrought = true
    return found as never
  }
  const slow = { ...data, inbox: { ...inbox, byPerson: { ...inbox.byPerson, page } } }
  await unfollow(slow as typeof data, ann, bob, { removeEntries: true })
  expect(await data.inbox.byPerson.all({ person_id: ann })).toMatchObject([{ via: [source] }])
})

test('an item that is removed while its channel is unfollowed does not fail the call', async () => {
  const { data } = site
  await postBy(bob, 1)
  await follow(data, ann, bob)
  const [item] = await data.inbox.byPerson.all({ person_id: ann })
  await bringItems(data, [{ ...item!, via: [source] }])
  const { inbox } = data
  const page: typeof inbox.byPerson.page = async (...args) => {
    const found = await inbox.byPerson.page(...args)
    await inbox.delete(item!.id)
    return found as never
  }
  const slow = { ...data, inbox: { ...inbox, byPerson: { ...inbox.byPerson, page } } }
  await unfollow(slow as typeof data, ann, bob, { removeEntries: true })
  expect(await inboxOf(ann)).toBe(0)
})
