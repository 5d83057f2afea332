import { expect, test, vi } from 'vitest'
import { createVisitor, openTestSite, textOf } from './support.ts'

test('a third shard joins by a button, takes a share of the buckets, and all pages stay as they were', async () => {
  const site = await openTestSite()
  try {
    const [reader, window] = [createVisitor(site.app), createVisitor(site.app)]
    const entriesOf = async (path: string): Promise<(string | undefined)[]> =>
      [...(await reader.get(path)).body.matchAll(/<article [^>]*id="([^"]+)"/g)].map(([, id]) => id)
    const before = await entriesOf('/')
    expect(before.length).toBeGreaterThan(10)

    const page = async (): Promise<string> => textOf((await window.get('/store/grow')).body)
    expect(await page()).toContain('Add shard-2.sqlite')
    expect((await window.post('/store/grow', { join: 'a shard' })).statusCode).toBe(303)
    await vi.waitFor(
      async () => expect(await page()).toContain('It is shard 2, and has no buckets yet.'),
      10_000,
    )

    expect((await window.post('/store/grow', { rebalance: 'the shards' })).statusCode).toBe(303)
    await vi.waitFor(async () => expect(await page()).toMatch(/Move \d+: /), 10_000)
    expect(await entriesOf('/')).toEqual(before)
    const { shards } = site.site.store
    const moves = await vi.waitFor(async () => {
      const all = await shards.moves({ finished: true })
      expect(all.map(({ from, to }) => [from, to])).toEqual([
        [0, 2],
        [1, 2],
      ])
      expect(all.filter(({ handedOver, bucketCount }) => handedOver < bucketCount)).toEqual([])
      return all
    }, 60_000)
    const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0)
    const { [2]: joined } = await shards.list()
    expect(joined?.buckets).toBe(sum(moves.map(({ bucketCount }) => bucketCount)))
    // A third of the bytes, which are in few of the buckets.
    expect(sum(moves.map(({ counts }) => counts.entities))).toBeGreaterThan(1_000)
    expect(await entriesOf('/')).toEqual(before)
    // The move goes on until the site is closed. The tests of the mover follow one to its end.
    expect(await page()).toContain('“rebalance the shards” is running')
  } finally {
    await site.close()
  }
})
