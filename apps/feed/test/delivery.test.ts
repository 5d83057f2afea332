import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleOf } from '@looseleaf-tooling/vitest/bundle'
import { memoryShards, readConsumers, sqliteShards } from 'looseleaf'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DELIVER, startDeliveries } from '../src/delivery/start-deliveries.ts'
import { postEntry, removeEntry } from '../src/domain/entries/entries.ts'
import { freshEntry } from '../src/domain/entries/fresh-entry.ts'
import { postComment } from '../src/domain/entries/responses.ts'
import { readHome } from '../src/domain/home/queries.ts'
import { openSite, type Site } from '../src/domain/site/site.ts'
import { deliveryId } from '../src/kinds/delivery.ts'
import { followId } from '../src/kinds/follow.ts'

/** Lets people follow a channel, and returns them. */
async function addFollowers({ data, store }: Site, channel_id: string, count: number): Promise<string[]> {
  const people = Array.from({ length: count }, () => store.newId())
  const since = new Date()
  await data.follows.insertMany(
    people.map((person_id) => ({ id: followId(person_id, channel_id), person_id, channel_id, since })),
  )
  return people
}

test('idea 2: an entry reaches each of 1,000 followers once, although the delivering process is killed amid it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-delivery-'))
  const site = await openSite({ shards: sqliteShards({ folder, shards: 2 }), cleaner: false })
  onTestFinished(async () => {
    await site.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const { data } = site
  const source_id = site.store.newId()
  const followers = await addFollowers(site, source_id, 1_000)
  const now = new Date()
  const story = freshEntry({ title: 'To all', source_id, published: now }, now)
  const { id: entry_id } = await data.entries.insert(story)
  const count = (): Promise<number> => data.inbox.byEntry.count({ entry_id }, { exact: false })
  const program = await bundleOf(new URL('./delivering.ts', import.meta.url))

  /** Delivers in a process that is killed after a number of inserts. Returns the number of items then. */
  async function killAfter(inserts: number): Promise<number> {
    const env = { ...process.env, DATA: folder, DIES_AFTER: `${inserts}` }
    const child = fork(program, { env, execArgv: ['--conditions=@looseleaf/source'], stdio: 'inherit' })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [, signal] = (await once(child, 'exit')) as [unknown, string]
    expect(signal).toBe('SIGKILL')
    return count()
  }

  // Amid the first batch of 500, and then after the last item, before the delivery is noted.
  const amid = await killAfter(300)
  expect(amid).toBeGreaterThanOrEqual(300)
  expect(amid).toBeLessThanOrEqual(500)
  expect(await killAfter(1_000)).toBe(1_000)
  expect(await data.deliveries.get(deliveryId(entry_id))).toBeUndefined()

  const deliveries = startDeliveries(site, { leaseMs: 500, onError: () => {} })
  onTestFinished(() => deliveries.stop())
  await vi.waitUntil(() => data.deliveries.get(deliveryId(entry_id)), { timeout: 30_000 })
  expect(await count()).toBe(1_000)
  const items = await data.inbox.byEntry.all({ entry_id })
  expect(new Set(items.map(({ person_id }) => person_id))).toEqual(new Set(followers))
})

test('a comment moves an entry up in all inboxes, at most once a minute', async () => {
  const site = await openSite({ shards: memoryShards(2), cleaner: false })
  onTestFinished(() => site.close())
  const { data } = site
  const writer = site.store.newId()
  const [follower = ''] = await addFollowers(site, writer, 1)
  let time = Date.now()
  const deliveries = startDeliveries(site, { now: () => new Date(time), onError: () => {} })
  onTestFinished(() => deliveries.stop())
  const entry_id = await postEntry(
    data,
    { person_id: writer, title: 'Busy', link: undefined },
    { now: new Date(time) },
  )
  const bumped = async (): Promise<number | undefined> =>
    (await readHome(site, follower)).rows[0]?.bumped.getTime()
  const comment = (at: number): Promise<unknown> =>
    postComment(data, { entry_id, person_id: follower, text: `${at}` }, { now: new Date(at) })
  await vi.waitUntil(async () => (await bumped()) === time, { timeout: 10_000 })
  const first = time + 1_000
  await comment(first)
  await vi.waitUntil(async () => (await bumped()) === first, { timeout: 10_000 })
  const second = time + 2_000
  await comment(second)
  const due = async (): Promise<Date | undefined> =>
    (await data.deliveries.get(deliveryId(entry_id)))?.bump_due
  await vi.waitUntil(async () => (await due()) !== undefined, { timeout: 10_000 })
  expect(await bumped()).toBe(first)
  time += 61_000
  await vi.waitUntil(async () => (await bumped()) === second, { timeout: 15_000 })
})

test('an entry that its author removes leaves all inboxes, and quiet entries never come', async () => {
  const site = await openSite({ shards: memoryShards(2), cleaner: false })
  onTestFinished(() => site.close())
  const { data } = site
  const writer = site.store.newId()
  const [follower = ''] = await addFollowers(site, writer, 1)
  const deliveries = startDeliveries(site, { onError: () => {} })
  onTestFinished(() => deliveries.stop())
  const now = new Date()
  await data.entries.insert(
    freshEntry({ title: 'Quiet', person_id: writer, published: now, quiet: true }, now),
  )
  const entry_id = await postEntry(data, { person_id: writer, title: 'Short', link: undefined })
  const rows = async (): Promise<string[]> => (await readHome(site, follower)).rows.map((row) => row.entry_id)
  await vi.waitUntil(async () => (await rows()).length > 0, { timeout: 10_000 })
  expect(await rows()).toEqual([entry_id])
  await removeEntry(data, entry_id, writer, new Date())
  await vi.waitUntil(async () => (await rows()).length === 0, { timeout: 10_000 })
  const report = (await readConsumers(site.store)).find(({ name }) => name === DELIVER)
  expect(report?.shards.map(({ failing, deadLetters }) => failing + deadLetters)).toEqual([0, 0])
})
