import { LooseleafError, memoryShards, parseId } from 'looseleaf'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { freshEntry } from '../entries/fresh-entry.ts'
import { missingShards } from '../site/partial-reads.ts'
import { openSite, type Site } from '../site/site.ts'
import { followId } from '../../kinds/follow.ts'
import { serviceId } from '../../kinds/service.ts'
import { createStage, type Stage } from '../../stage/stage.ts'
import { createPulledLists, type PulledLists } from './pulled-lists.ts'
import { readHome } from './queries.ts'

const SHARDS = ['memory 0', 'memory 1'] as const

let stage: Stage
let site: Site
beforeEach(async () => {
  stage = createStage(memoryShards(SHARDS.length))
  site = await openSite({ ...stage, cleaner: false })
})
afterEach(async () => {
  vi.useRealTimers()
  await site.close()
})

function stop(shard: string): void {
  stage.faults.refusals.add((call) =>
    call.shard === shard ? new LooseleafError('SHARD_UNAVAILABLE', 'Down.', { shard }) : undefined,
  )
}

async function publish(source_id: string, at: number): Promise<string> {
  const arrived = new Date(at)
  const { id } = await site.data.entries.insert(
    freshEntry({ title: 'Entry', published: arrived, source_id }, arrived),
  )
  return id
}

/** Returns the ids of so many sources on each shard. */
function sourcesPerShard(count: number): string[] {
  const { router } = site.store.context
  const found = SHARDS.map((): string[] => [])
  while (found.some(({ length }) => length < count)) {
    const id = site.store.newId()
    found[router.shardOfId(parseId(id))]?.push(id)
  }
  return found.flatMap((ids) => ids.slice(0, count))
}

/** Visits the lists, and returns the entries with the missing shards that the trace of the visit knows. */
async function visit(
  lists: PulledLists,
  channels: readonly string[],
): Promise<[string[], readonly string[]]> {
  return site.store.trace(async (trace) => {
    const rows = await lists.newestOf(channels)
    return [rows.map(({ entry_id }) => entry_id), missingShards(trace)]
  })
}

test('each of several visits at once knows that a shard is missing, and later ones have its entries again', async () => {
  const sources = sourcesPerShard(3)
  const entries = await Promise.all(sources.map((source, i) => publish(source, i)))
  const lists = createPulledLists(site.data, { keepMs: Infinity })
  const [, down] = SHARDS
  stop(down)
  const visits = await Promise.all([1, 2, 3].map(() => visit(lists, sources)))
  for (const [found, missing] of visits) {
    expect(missing).toEqual([down])
    expect(found.length).toBeLessThan(entries.length)
  }
  stage.faults.refusals.clear()
  expect(await visit(lists, sources)).toEqual([entries.toReversed(), []])
  // Whole lists stay for a moment, also if the shard goes again.
  stop(down)
  expect(await visit(lists, sources)).toEqual([entries.toReversed(), []])
})

test('lists for commands reject while a shard does not answer', async () => {
  const sources = Array.from({ length: 6 }, () => site.store.newId())
  for (const shard of SHARDS) stop(shard)
  const lists = createPulledLists(site.data, { onUnavailable: 'fail' })
  await expect(lists.newestOf(sources)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
})

test('a new entry is on the home pages of followers a second later', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const { data, store } = site
  const [person = '', publisher = '', source = ''] = Array.from({ length: 3 }, () => store.newId())
  await data.services.insert(
    { person_id: publisher, source_id: source, added: new Date() },
    { id: serviceId(publisher, source) },
  )
  for (const channel_id of [publisher, source]) {
    const follow = { person_id: person, channel_id, since: new Date(), pulled_by: person }
    await data.follows.insert(follow, { id: followId(person, channel_id) })
  }
  const shown = async (): Promise<string[]> =>
    (await readHome(site, person)).rows.map(({ entry_id }) => entry_id)
  const first = await publish(source, 1)
  expect(await shown()).toEqual([first])
  const second = await publish(source, 2)
  expect(await shown()).toEqual([first])
  vi.advanceTimersByTime(1_000)
  expect(await shown()).toEqual([second, first])
  const [row] = (await readHome(site, person)).rows
  expect(row?.via.toSorted()).toEqual([publisher, source].toSorted())
})

test('a list is continued by its newest entries, and read as a whole some seconds later', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const lists = createPulledLists(site.data)
  const source = site.store.newId()
  const shown = async (): Promise<string[]> =>
    (await lists.newestOf([source])).map(({ entry_id }) => entry_id)
  const old = await Promise.all([60_000, 50_000, 20_000].map((at) => publish(source, at)))
  expect(await shown()).toEqual(old)
  // A slow process has written an entry that came long ago, and another one that came just before the newest.
  const late = await publish(source, 10_000)
  const soon = await publish(source, 58_000)
  const fresh = await publish(source, 70_000)
  const [newest, ...older] = old
  const { bumped } = await site.data.entries.update(soon, { bumped: new Date(80_000) })
  vi.advanceTimersByTime(1_000)
  expect(await shown()).toEqual([fresh, newest, soon, ...older])
  vi.advanceTimersByTime(20_000)
  expect(await shown()).toEqual([fresh, newest, soon, ...older, late])
  expect((await lists.newestOf([source]))[2]?.bumped).toEqual(bumped)
})
