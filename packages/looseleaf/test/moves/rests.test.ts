import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets } from '@looseleaf/mover/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { openStore } from './stores.ts'

const STATEMENT_MS = 10

test('the mover rests four times as long as a seal before it seals the next group', async () => {
  const memory = await memoryShards(2).connect()
  const time = leapingTime()
  const seals: { from: number; to: number }[] = []
  const watched = faultyDriver(memory, ({ operation, args }) => {
    const { serves } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
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
  const mover = await openStore(watched, time)
  await moveBuckets(mover, { from: 0, to: 1, buckets: '0-1023' }, { groups: 3 })
  expect(seals).toHaveLength(3)
  for (const [i, { from, to }] of seals.slice(0, -1).entries()) {
    expect(to - from).toBeGreaterThanOrEqual(3 * STATEMENT_MS)
    expect(seals[i + 1]!.from - to).toBeGreaterThanOrEqual(4 * (to - from))
  }
})
