import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets } from '@looseleaf/mover/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { filledStore, openStore, SOME_BUCKETS } from './stores.ts'

const STATEMENT_MS = 20
const LEASE_MS = 3_000
const CHECKPOINT_MS = 1_000

test('a mover with the shortest lease keeps it during its waits, and saves its progress no more than once a second', async () => {
  const driver = await memoryShards(2).connect()
  await (await filledStore(driver, 200)).close()
  const time = leapingTime()
  let step = ''
  const savesIn = new Map<string, number[]>()
  const slow = faultyDriver(driver, ({ shard, table, operation }) => {
    const saves = savesIn.get(step) ?? []
    // The mover sends no other claims and saves.
    if (shard === 1 && table === 'tasks' && ['claim', 'save'].includes(operation))
      savesIn.set(step, [...saves, time.now()])
    return { before: () => time.leap(STATEMENT_MS) }
  })
  const mover = await openStore(slow, time)
  const onProgress = (at: { readonly step: string }): void => void (step = at.step)
  const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
  await moveBuckets(mover, plan, { onProgress, rowsPerSecond: 20, leaseMs: LEASE_MS })

  const gapsOf = (times: readonly number[]): readonly number[] =>
    times.slice(1).map((each, i) => each - times[i]!)
  const all = [...savesIn.values()].flat()
  expect(Math.max(...gapsOf(all))).toBeLessThan(LEASE_MS)
  for (const name of ['copying', 'checking', 'emptying']) {
    // The last one is of the next step.
    const gaps = gapsOf(savesIn.get(name)!.slice(0, -1))
    expect([name, gaps.length]).not.toEqual([name, 0])
    expect([name, ...gaps.filter((gap) => gap < CHECKPOINT_MS)]).toEqual([name])
  }
  await mover.close()
  await driver.close()
})
