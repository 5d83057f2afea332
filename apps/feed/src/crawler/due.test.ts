import { LooseleafError } from 'looseleaf'
import { beforeEach, expect, test } from 'vitest'
import { LEASE, openCrawlBench, type CrawlBench } from '../../test/crawl-bench.ts'
import { SKIP } from '../domain/site/partial-reads.ts'
import { addSources } from '../domain/sources/add-sources.ts'
import type { Source } from '../kinds/source.ts'
import { takeDue } from './due.ts'

let bench: CrawlBench
beforeEach(async () => {
  bench = await openCrawlBench()
})

test('a source that is due is taken by one process, and again when the lease has ended', async () => {
  const ids = [await bench.add('/a'), await bench.add('/b'), await bench.add('/c')]
  const taken = await Promise.all([bench.take(), bench.take(), bench.take()])
  expect(taken.flat().toSorted()).toEqual(ids.toSorted())
  expect(await bench.take()).toEqual([])
  bench.pass(LEASE)
  expect((await bench.take()).toSorted()).toEqual(ids.toSorted())
})

test.each(['memory 0', 'memory 1'])(
  'while %s is stopped, sources of the other shard are taken once, and those on it are taken when it is back',
  async (stopped) => {
    const feeds = Array.from({ length: 200 }, (_, i) => ({ address: `${bench.server.origin}/${i}` }))
    const saved = await addSources(bench.site.data, feeds, { personId: undefined, now: bench.time })
    const ids = saved.map(({ id }) => id)
    const taken: string[] = []
    const takeAll = async (): Promise<void> => {
      for (let more = await bench.take(100); more.length > 0; more = await bench.take(100))
        taken.push(...more)
    }
    bench.stop(stopped)
    const { unread } = await bench.site.data.sources.getMany(ids, SKIP)
    await takeAll()
    bench.bringBack()
    // A source is taken if its stripe is on a shard that answers, too.
    expect(taken.length).toBeGreaterThan(20)
    expect(taken.filter((id) => unread.includes(id as never))).toEqual([])
    await takeAll()
    expect(taken.toSorted()).toEqual(ids.toSorted())
  },
)

test('a look in which a shard stops answering gives the places of its sources back, and fetches the others', async () => {
  const ids = await Promise.all(['/a', '/b', '/c'].map((path) => bench.add(path)))
  const { sources } = bench.site.data
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'The shard does not answer.')
  const updateMany = async (of: readonly Source[]) =>
    of.map((source) => (source.id === ids[1] ? { ok: true, value: source } : { ok: false, error: down }))
  const data = {
    ...bench.site.data,
    sources: { ...sources, updateMany },
  } as unknown as typeof bench.site.data
  const reserved = new Set<string>()
  const errors: unknown[] = []
  const taken = await takeDue(data, {
    limit: 10,
    leaseMs: LEASE,
    now: bench.time,
    reserve: ({ id }) => Boolean(reserved.add(id)),
    release: ({ id }) => void reserved.delete(id),
    passed: new Map(),
    onError: (error) => errors.push(error),
  })
  expect(taken.map(({ id }) => id)).toEqual([ids[1]])
  expect([...reserved]).toEqual([ids[1]])
  expect(errors).toEqual([down, down])
})

test('busy sources are passed over without a write until others are reached, and their turn comes again', async () => {
  const { site, time } = bench
  const feeds = Array.from({ length: 300 }, (_, i) => ({ address: `https://example.org/${i}` }))
  const saved = await addSources(site.data, feeds, { personId: undefined, now: time })
  // Earlier sources are due later here, so this one is behind all others of its stripe.
  const last = saved[0]!.id
  const versions = async (): Promise<unknown[]> => {
    const stored = await site.data.sources.getMany(saved.map(({ id }) => id))
    return stored.flatMap((source) => (source === undefined || source.id === last ? [] : [source.version]))
  }
  const before = await versions()
  const passed = new Map<number, Date>()
  const look = async (isFree: (id: string) => boolean): Promise<string[]> => {
    const parts = { release: () => undefined, onError: () => undefined, passed }
    const reserve = ({ id }: Source): boolean => isFree(id)
    const taken = await takeDue(site.data, { limit: 8, leaseMs: LEASE, now: time, reserve, ...parts })
    return taken.map(({ id }) => id)
  }
  const taken: string[] = []
  for (let looks = 0; looks < 20; looks++) taken.push(...(await look((id) => id === last)))
  expect(taken).toEqual([last])
  expect(await versions()).toEqual(before)
  for (let looks = 0; looks < 60; looks++) taken.push(...(await look(() => true)))
  expect(taken.toSorted()).toEqual(saved.map(({ id }) => id).toSorted())
})
