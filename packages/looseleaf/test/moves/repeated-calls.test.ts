import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { moveBuckets, movesOf, moveTask } from '@looseleaf/mover/internal'
import { announceMove } from '@looseleaf/protocol/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveUntil } from './consumers/moving.ts'
import { checkIndexes, checkQueries, contentsOf, filledStore, openStore, SOME_BUCKETS } from './stores.ts'

const PLAN = { from: 0, to: 1, buckets: SOME_BUCKETS }

test.each([
  ['is sealing', 'both'],
  ['is switching', 'both'],
  ['is emptying', undefined],
] as const)('a repeated call ends a move that was interrupted while it %s', async (state, phase) => {
  const driver = await memoryShards(2).connect()
  const before = await contentsOf(await filledStore(driver, 100))
  const stop = new AbortController()
  const stopped = await openStore(driver, leapingTime())
  const call = moveBuckets(stopped, PLAN, {
    signal: stop.signal,
    onProgress({ step, seals }) {
      if (state === `is ${step}` && seals.groups > 0) stop.abort()
    },
  })
  await expect(call).rejects.toMatchObject({ code: 'ABORTED' })
  expect(await movesOf(stopped)).toMatchObject([{ id: 1 }])
  const { moves = [] } = (await loadShardCatalog(driver.shards[0]!))!.layout!
  expect(moves[0]?.phase).toBe(phase)

  let pages = 0
  const watched = faultyDriver(driver, ({ operation }) => void (operation.startsWith('pageOf') && pages++))
  const repeated = await openStore(watched, leapingTime())
  const steps: (readonly [step: string, pages: number])[] = []
  const onProgress = ({ step }: { readonly step: string }): void => void steps.push([step, pages])
  expect(await moveBuckets(repeated, { ...PLAN, buckets: '0-511,512-1023' }, { onProgress })).toMatchObject({
    id: 1,
    state: 'done',
  })
  expect(steps[0]).toEqual([state.slice('is '.length), 0])
  expect(steps.map(([step]) => step)).not.toContain('copying')
  expect(await movesOf(repeated)).toEqual([])
  expect(await contentsOf(repeated)).toEqual(before)
  await checkQueries(repeated)
  await checkIndexes(repeated)
  await expect(moveBuckets(repeated, PLAN)).rejects.toMatchObject({ code: 'BAD_OPTION' })
})

test('a call takes up no other move, and none that is being undone', async () => {
  const driver = await memoryShards(3).connect()
  const store = await filledStore(driver, 20)
  const mover = await openStore(driver, leapingTime())
  await announceMove(store.context, { from: 0, to: 1, buckets: '0-9' })
  const target = driver.shards[2]!
  // Copies of a move that was undone without its target.
  const coming = { move: 99, attempt: 1, buckets: '20-29', from: 0, afterAddedId: 0 }
  await changeServes(target, (await loadShardCatalog(target))!, { owns: '2731-4095', coming: [coming] })
  for (const plan of [
    { from: 0, to: 1, buckets: '10-19' },
    { from: 0, to: 2, buckets: '20-29' },
  ])
    expect(await moveBuckets(mover, plan)).toMatchObject({ ...plan, state: 'done' })
  await expect(moveBuckets(mover, { from: 0, to: 2, buckets: '0-9' })).rejects.toMatchObject({
    code: 'CONFLICT',
  })
  await expect(moveBuckets(mover, { from: 2, to: 1, buckets: '0-9' })).rejects.toMatchObject({
    code: 'CONFLICT',
  })
  expect(await movesOf(mover)).toMatchObject([{ id: 1 }, { id: 99 }])
})

test('a call returns a move that another process announces and ends while the call begins', async () => {
  const driver = await memoryShards(2).connect()
  const before = await contentsOf(await filledStore(driver, 100))
  const other = await openStore(driver, leapingTime())
  let flushes = -Infinity
  const late = faultyDriver(driver, ({ operation }) => {
    if (operation !== 'flush') return undefined
    flushes++
    if (flushes === 1) return { before: async () => void (await announceMove(other.context, PLAN)) }
    // The announcement was found, and is looked at again.
    if (flushes === 4) return { before: async () => void (await moveBuckets(other, PLAN)) }
    return undefined
  })
  const store = await openStore(late, leapingTime())
  flushes = 0
  expect(await moveBuckets(store, PLAN)).toMatchObject({ id: 1, state: 'done' })
  expect(flushes).toBeGreaterThan(4)
  expect(await movesOf(store)).toEqual([])
  expect(await contentsOf(store)).toEqual(before)
})

test('a call takes up no earlier move whose buckets are back', async () => {
  const driver = await memoryShards(2).connect()
  await filledStore(driver, 20)
  const dying = faultyDriver(driver, ({ operation, args }) => {
    const isDone = operation === 'save' && args[0] === moveTask(1) && String(args[2]).includes('"done"')
    return isDone ? { before: () => Promise.reject(new Error('The process dies.')) } : undefined
  })
  await expect(moveBuckets(await openStore(dying, leapingTime()), PLAN, { leaseMs: 1 })).rejects.toThrow(
    'The process dies.',
  )
  const mover = await openStore(driver, leapingTime())
  expect(await moveBuckets(mover, { ...PLAN, from: 1, to: 0 })).toMatchObject({ state: 'done' })
  expect(await movesOf(mover)).toMatchObject([{ id: 1, state: 'emptying' }])
  await moveUntil(mover, 'checking', PLAN)
  const again = await moveBuckets(mover, PLAN)
  expect(again).toMatchObject({ from: 0, to: 1, state: 'done' })
  expect((await loadShardCatalog(driver.shards[1]!))!.serves?.owns).toContain(SOME_BUCKETS)
})
