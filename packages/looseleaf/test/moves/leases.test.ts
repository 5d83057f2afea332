import { formatId, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import { moveBuckets, resumeMoves } from '@looseleaf/mover/internal'
import { announceMove } from '@looseleaf/protocol/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { filledStore, openStore, SOME_BUCKETS } from './stores.ts'

const STATEMENT_MS = 100
const LEASE_MS = 30_000

test('a mover with a rate limit keeps its lease in every step', async () => {
  const driver = await memoryShards(2).connect()
  await (await filledStore(driver, 200)).close()
  const time = leapingTime()
  let step = ''
  let renewedAt: number | undefined
  const longest = new Map<string, number>()
  const slow = faultyDriver(driver, ({ shard, table, operation }) => {
    // The mover sends no other claims and saves.
    const renews = shard === 1 && table === 'tasks' && ['claim', 'save'].includes(operation)
    if (renews && renewedAt !== undefined)
      longest.set(step, Math.max(longest.get(step) ?? 0, time.now() - renewedAt))
    if (renews) renewedAt = time.now()
    return { before: () => time.leap(STATEMENT_MS) }
  })
  const mover = await openStore(slow, time)
  const onProgress = (at: { readonly step: string }): void => void (step = at.step)
  await moveBuckets(mover, { from: 0, to: 1, buckets: SOME_BUCKETS }, { onProgress, rowsPerSecond: 10 })
  expect([...longest.keys()]).toEqual(expect.arrayContaining(['copying', 'checking', 'sealing', 'emptying']))
  expect([...longest].filter(([, wait]) => wait >= LEASE_MS)).toEqual([])
  await mover.close()
  await driver.close()
})

test('a move that waits until a later one of its call has handed its buckets over keeps its lease', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 100)
  const moves = [
    await announceMove(store.context, { from: 0, to: 1, buckets: '0' }),
    await announceMove(store.context, { from: 0, to: 1, buckets: '1-2047' }),
  ]
  const time = leapingTime()
  const renewals: number[] = []
  const slow = faultyDriver(driver, ({ operation, args: [task] }) => {
    if (operation === 'save' && task === `move/${moves[0]!.id}`) renewals.push(time.now())
    return { before: () => time.leap(STATEMENT_MS) }
  })
  const mover = await openStore(slow, time)
  await resumeMoves(mover, { rowsPerSecond: 5 })
  const waits = renewals.slice(1).map((each, i) => each - renewals[i]!)
  expect(renewals.at(-1)! - renewals[0]!).toBeGreaterThan(3 * LEASE_MS)
  expect(Math.max(...waits)).toBeLessThan(LEASE_MS)
  await mover.close()
  await store.close()
  await driver.close()
})

test('a mover takes no record of another move that had the number before a failover', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 200)
  const ended = new AbortController()
  const onProgress = ({ step }: { readonly step: string }): void => void (step === 'sealing' && ended.abort())
  const other = moveBuckets(store, { from: 0, to: 1, buckets: '0-9' }, { onProgress, signal: ended.signal })
  await expect(other).rejects.toMatchObject({ code: 'ABORTED' })
  await changeCatalogContents(driver, ({ layout, ...contents }) => ({
    ...contents,
    layout: { ...layout!, moves: layout!.moves!.map((move) => ({ ...move, buckets: SOME_BUCKETS })) },
  }))
  // Copies are on both shards.
  const before = [...new Set(await entitiesIn(driver))]
  expect(await resumeMoves(store)).toMatchObject([{ id: 1, state: 'done', buckets: SOME_BUCKETS }])
  expect(await entitiesIn(driver)).toEqual(before)
  await store.close()
  await driver.close()
})

/** Returns the ids of the entities of all shards. */
async function entitiesIn({ shards }: Driver): Promise<readonly string[]> {
  const pages = await Promise.all(shards.map(({ entities }) => entities.pageByAdded(0, 10_000)))
  return pages.flatMap((page) => page.map(({ id }) => formatId(id))).toSorted()
}
