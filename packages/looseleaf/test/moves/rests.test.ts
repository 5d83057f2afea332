import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { moveBuckets } from '@looseleaf/mover/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { lateSleeps, openStore } from './stores.ts'

const STATEMENT_MS = 10

test('the mover rests four times as long as a seal before it seals the next group', async () => {
  const memory = await memoryShards(2).connect()
  const time = leapingTime()
  const seals: { from: number; to: number }[] = []
  let isSwitched = false
  let restedMs = Infinity
  const watched = faultyDriver(memory, ({ operation, args }) => {
    const { serves, layout } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
    if (layout?.moves?.[0]?.phase === 'target' && !isSwitched) {
      isSwitched = true
      restedMs = time.now() - seals.at(-1)!.to
    }
    if (serves?.leaving?.some(({ sealed }) => sealed !== undefined) === true)
      seals.push({ from: time.now(), to: 0 })
    return {
      before: () => time.leap(STATEMENT_MS),
      after: () => {
        if (serves?.arrived !== undefined && seals.at(-1)?.to === 0) seals.at(-1)!.to = time.now()
      },
    }
  })
  await (await openStore(memory)).close()
  const mover = await openStore(watched, lateSleeps(time))
  const report = await moveBuckets(mover, { from: 0, to: 1, buckets: '0-1023' }, { groups: 3 })
  expect(seals).toHaveLength(3)
  for (const [i, { from, to }] of seals.slice(0, -1).entries()) {
    expect(to - from).toBeGreaterThanOrEqual(3 * STATEMENT_MS)
    const rest = seals[i + 1]!.from - to
    expect(rest).toBeGreaterThanOrEqual(4 * (to - from))
    // With the statements before the next seal.
    expect(rest).toBeLessThan(4 * (to - from) + 50 * STATEMENT_MS)
  }
  const lengths = seals.map(({ from, to }) => to - from)
  expect(report.seals).toMatchObject({ groups: 3, worst: Math.max(...lengths) })
  // No group comes after the last one.
  expect(restedMs).toBeLessThan(4 * lengths.at(-1)!)
})

test('a move rejects when writers have taken the seal of a group away twenty times in a row', async () => {
  const memory = await memoryShards(2).connect()
  const time = leapingTime()
  const [source] = memory.shards
  let seals = 0
  const takeAway = async (): Promise<void> => {
    const catalog = (await loadShardCatalog(source!))!
    const leaving = catalog.serves!.leaving!.map(({ sealed: _, ...record }) => record)
    await changeServes(source!, catalog, { ...catalog.serves!, leaving })
  }
  const watched = faultyDriver(memory, ({ operation, args }) => {
    const { serves } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
    if (serves?.leaving?.some(({ sealed }) => sealed !== undefined) === true) seals++
    return serves?.away === undefined ? undefined : { before: takeAway }
  })
  const mover = await openStore(watched, time)
  await expect(
    moveBuckets(mover, { from: 0, to: 1, buckets: '0-1023' }, { groups: 2 }),
  ).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('writers took the seal of a group away 20 times in a row') as string,
  })
  expect(seals).toBe(20)
  // The pauses grow to five seconds.
  expect(time.slept).toBeGreaterThan(60_000)
})
