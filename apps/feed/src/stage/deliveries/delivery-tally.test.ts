import { memoryShards } from 'looseleaf'
import { expect, onTestFinished, test } from 'vitest'
import { handleChange } from '../../delivery/start-deliveries.ts'
import { hybrid } from '../../delivery/strategy.ts'
import { freshEntry } from '../../domain/entries/fresh-entry.ts'
import { unfollow } from '../../domain/following/commands.ts'
import { itemOf } from '../../domain/home/commands.ts'
import { openSite } from '../../domain/site/site.ts'
import { followId } from '../../kinds/follow.ts'
import type { Entry } from '../../kinds/entry.ts'
import { inboxItemId } from '../../kinds/inbox-item.ts'
import { createDeliveryTally, type DeliveryTally } from './delivery-tally.ts'

/** A site whose source has three followers, with a tally that gets every entity by hand. */
async function openFollowed() {
  const site = await openSite({ shards: memoryShards(2), cleaner: false })
  onTestFinished(() => site.close())
  const { store, data } = site
  const channel_id = store.newId()
  const followers = [store.newId(), store.newId(), store.newId()] as const
  const since = new Date()
  for (const person_id of followers)
    await data.follows.insert({ person_id, channel_id, since }, { id: followId(person_id, channel_id) })
  let time = Date.now()
  const tally = createDeliveryTally(data, () => time)
  const tell = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) tally.add(id, await store.get(id))
  }
  return {
    data,
    tally,
    channel_id,
    followers,
    tell,
    wait: (ms: number) => void (time += ms),
    async publish(facts: { readonly quiet?: boolean } = {}): Promise<Entry> {
      const text = { title: 'News', source_id: channel_id, published: new Date(), ...facts }
      const entry = await data.entries.insert(freshEntry(text, new Date()))
      await tell([entry.id])
      return entry
    },
    async deliver({ id }: Entry): Promise<readonly string[]> {
      await handleChange(data, { id, item: await data.entries.get(id) }, hybrid(), () => new Date())
      return followers.map((person) => inboxItemId(person, id))
    },
  }
}

const counts = (expected: number, delivered: number, twice = 0): ReturnType<DeliveryTally['counts']> => ({
  expected,
  delivered,
  twice,
})

test('an entry is expected by each follower before it is delivered, and each item is counted as it comes', async () => {
  const { tally, publish, deliver, tell } = await openFollowed()
  const entry = await publish()
  await publish({ quiet: true })
  await tally.settle()
  expect(tally.counts()).toEqual(counts(3, 0))
  const [first, ...others] = await deliver(entry)
  await tell([first as string])
  expect(tally.counts()).toEqual(counts(3, 1))
  await tell([...others, ...others])
  expect(tally.counts()).toEqual(counts(3, 3))
})

test('items that are seen before their entry count', async () => {
  const { data, tally, channel_id, deliver, tell } = await openFollowed()
  const text = { title: 'News', source_id: channel_id, published: new Date() }
  const entry = await data.entries.insert(freshEntry(text, new Date()))
  await tell(await deliver(entry))
  expect(tally.counts()).toEqual(counts(0, 0))
  await tell([entry.id])
  await tally.settle()
  expect(tally.counts()).toEqual(counts(3, 3))
})

test('a second item of a person counts as twice', async () => {
  const { data, tally, followers, publish, deliver, tell } = await openFollowed()
  const entry = await publish()
  await tell(await deliver(entry))
  const again = await data.inbox.insert(itemOf(entry, followers[0], [entry.channel_id], new Date()))
  await tell([again.id])
  await tally.settle()
  expect(tally.counts()).toEqual(counts(3, 3, 1))
})

test('a person who has unfollowed before the delivery expects nothing any more', async () => {
  const { data, tally, followers, publish, deliver, tell, wait } = await openFollowed()
  const entry = await publish()
  await tally.settle()
  await unfollow(data, followers[0], entry.channel_id, { removeEntries: false })
  const [, ...items] = await deliver(entry)
  await tell(items)
  expect(tally.counts()).toEqual(counts(3, 2))
  wait(4_000)
  await tally.settle()
  expect(tally.counts()).toEqual(counts(2, 2))
})

test('items whose changes were missed are read later', async () => {
  const { tally, publish, deliver, wait } = await openFollowed()
  const entry = await publish()
  await tally.settle()
  await deliver(entry)
  wait(4_000)
  await tally.settle()
  expect(tally.counts()).toEqual(counts(3, 3))
})

test('a removed or deleted entry is not expected, and an entry of an earlier time never is', async () => {
  const { data, tally, publish, tell, channel_id } = await openFollowed()
  const [removed, deleted] = [await publish(), await publish()]
  await data.entries.update(removed.id, { removed: { by: channel_id, at: new Date() } })
  await data.entries.delete(deleted.id)
  await tell([removed.id, deleted.id])
  const old = freshEntry({ title: 'Old', source_id: channel_id, published: new Date(0) }, new Date(0))
  await tell([(await data.entries.insert(old)).id])
  await tally.settle()
  expect(tally.counts()).toEqual(counts(0, 0))
})

test('entries of the last ten minutes are kept, and older ones stay in the sum', async () => {
  const { tally, publish, deliver, tell, wait } = await openFollowed()
  const entry = await publish()
  await tally.settle()
  await tell(await deliver(entry))
  wait(11 * 60_000)
  await tally.settle()
  await tell([entry.id])
  await tally.settle()
  expect(tally.counts()).toEqual(counts(3, 3))
})
