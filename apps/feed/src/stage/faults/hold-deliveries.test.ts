import { memoryShards } from 'looseleaf'
import { expect, onTestFinished, test } from 'vitest'
import { startDeliveries } from '../../delivery/start-deliveries.ts'
import { postEntry } from '../../domain/entries/entries.ts'
import { follow } from '../../domain/following/commands.ts'
import { createLoop } from '../../domain/site/loop.ts'
import { openSite, type Site } from '../../domain/site/site.ts'
import { inboxItemId } from '../../kinds/inbox-item.ts'
import { compareDeliveries, holdDeliveries } from './hold-deliveries.ts'

async function openFollowed(): Promise<Site & { readonly writer: string; readonly readers: string[] }> {
  const site = await openSite({ shards: memoryShards(2), cleaner: false })
  onTestFinished(() => site.close())
  const people = await site.data.people.insertMany(
    Array.from({ length: 4 }, (_, i) => ({
      name: `person-${i}`,
      full_name: `Person ${i}`,
      bio: '',
      hue: 1,
      joined: new Date(),
    })),
  )
  const [writer = '', ...readers] = people.map(({ id }) => id)
  for (const reader of readers) await follow(site.data, reader, writer)
  return { ...site, writer, readers }
}

test('held deliveries catch up after their start, and the outcome counts each follower of each entry', async () => {
  const { store, data, writer } = await openFollowed()
  const errors: unknown[] = []
  const loop = createLoop(() => startDeliveries({ store, data }, { onError: (error) => errors.push(error) }))
  onTestFinished(() => loop.close())
  loop.start()
  const ending = new AbortController()
  const shown: string[] = []
  const outcomes: string[] = []
  const held = holdDeliveries(data, loop, 60_000, {
    signal: ending.signal,
    showProgress: (text) => void shown.push(text),
    setOutcome: (text) => void outcomes.push(text),
  })
  await expect.poll(() => shown.length).toBeGreaterThan(0)
  for (const title of ['One', 'Two']) await postEntry(data, { person_id: writer, title, link: undefined })
  await expect
    .poll(() => shown.at(-1), { timeout: 10_000 })
    .toMatch(/the loop starts again at .*; 2 entries came meanwhile, 8 inbox items missing so far/)
  ending.abort()
  await held
  expect(outcomes.at(-1)).toBe('It runs again. 2 entries came meanwhile, for 8 inboxes: 0 lost, 0 twice.')
  expect(errors).toEqual([])
})

test('the comparison finds a lost item and a second one', async () => {
  const { data, writer, readers } = await openFollowed()
  const since = new Date()
  const entryId = await postEntry(data, { person_id: writer, title: 'One', link: undefined })
  expect(await compareDeliveries(data, since)).toEqual({ entries: 1, expected: 4, lost: 4, twice: 0 })
  const now = new Date()
  const item = (person_id: string) => ({
    person_id,
    entry_id: entryId,
    channel_id: writer,
    via: [writer],
    arrived: now,
    delivered: now,
    bumped: now,
    media: 'text' as const,
    read: false,
    hidden: false,
  })
  for (const reader of readers) await data.inbox.insert(item(reader), { id: inboxItemId(reader, entryId) })
  await data.inbox.insert(item(readers[0]!))
  expect(await compareDeliveries(data, since)).toEqual({ entries: 1, expected: 4, lost: 1, twice: 1 })
})
