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
    onError: (error) => errors.push(error),
  })
  expect(taken.map(({ id }) => id)).toEqual([ids[1]])
  expect([...reserved]).toEqual([ids[1]])
  expect(errors).toEqual([down, down])
})
