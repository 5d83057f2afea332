import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { steppedTime } from '@looseleaf-tooling/kit/times'
import type { Shard } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, onTestFinished, test } from 'vitest'
import { forEachShard } from './joined-shards.ts'

/** A store of two shards whose catalogs the test changes. */
function storeOf() {
  const time = steppedTime()
  const calls: string[] = []
  /** Epochs of the shards; an error for one that does not answer. */
  const stored: (number | Error | undefined)[] = [5, 5, 5]
  /** A catalog is read once this is resolved. */
  const gate = { opened: Promise.resolve() }
  const shardOf = (number: number): Shard =>
    ({
      name: `shard ${number}`,
      catalog: {
        async load() {
          calls.push(`load ${number}`)
          await gate.opened
          const epoch = stored[number]
          if (epoch instanceof Error) throw epoch
          return epoch === undefined ? undefined : catalogOf({ epoch })
        },
      },
    }) as unknown as Shard
  const shards = [shardOf(0), shardOf(1)]
  const layout = { shards: [{}, {}, {}] as { state?: 'removed' }[] }
  const catalog = {
    latest: () => ({ layout, epochs: [5, 5, 5] }),
    reload: async () => void calls.push('reload'),
  }
  const context = { driver: { shards }, time, catalog } as unknown as EngineContext
  return { context, time, calls, stored, gate, join: () => shards.push(shardOf(2)), layout }
}

/** Follows the shards of a store, and notes when work begins and ends. */
function follow(context: EngineContext) {
  const controller = new AbortController()
  const work: string[] = []
  const ended = forEachShard(context, {
    signal: controller.signal,
    begin(shard, signal) {
      work.push(`begin ${shard}`)
      signal.addEventListener('abort', () => work.push(`end ${shard}`))
    },
  })
  const stop = async (): Promise<void> => {
    controller.abort()
    await ended
  }
  onTestFinished(stop)
  return { work, stop }
}

test('work begins on every shard at once, and within a second on one that joins', async () => {
  const { context, time, join } = storeOf()
  const { work, stop } = follow(context)
  expect(work).toEqual(['begin 0', 'begin 1'])
  join()
  await time.step(999)
  expect(work).toHaveLength(2)
  await time.step(1)
  expect(work).toEqual(['begin 0', 'begin 1', 'begin 2'])
  await stop()
  expect(work.slice(3)).toEqual(['end 0', 'end 1', 'end 2'])
})

test('work ends on a shard that is removed, and goes on elsewhere', async () => {
  const { context, time, layout } = storeOf()
  const { work } = follow(context)
  layout.shards[0] = { state: 'removed' }
  await time.step(1_000)
  await time.step(1_000)
  expect(work).toEqual(['begin 0', 'begin 1', 'end 0'])
})

test('no work begins after the signal has fired', async () => {
  const { context } = storeOf()
  const work: number[] = []
  await forEachShard(context, { signal: AbortSignal.abort(), begin: (shard) => work.push(shard) })
  expect(work).toEqual([])
})

test('one shard is asked for the catalog every five seconds, by all loops together', async () => {
  const { context, time, calls } = storeOf()
  follow(context)
  follow(context)
  const seen: number[] = []
  for (let second = 1; second <= 13; second++) {
    await time.step(1_000)
    seen.push(calls.length)
  }
  // The look is made after the first second.
  expect(seen).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2])
  expect(calls).toEqual(['load 0', 'load 0'])
})

test.each<[string, readonly (number | Error | undefined)[], readonly string[]]>([
  ['has another epoch', [6, 5], ['load 0', 'reload']],
  ['has no catalog', [undefined, 5], ['load 0', 'reload']],
  ['does not answer, and the next one has the same epoch', [new Error('down'), 5], ['load 0', 'load 1']],
  [
    'does not answer, and the next one has another epoch',
    [new Error('down'), 6],
    ['load 0', 'load 1', 'reload'],
  ],
  ['does not answer, like all others', [new Error('down'), new Error('down')], ['load 0', 'load 1']],
])(
  'the catalogs are read again unless the epoch is known: the first shard %s',
  async (_, epochs, expected) => {
    const { context, time, calls, stored } = storeOf()
    stored.splice(0, 2, ...epochs)
    follow(context)
    for (let second = 1; second <= 6; second++) await time.step(1_000)
    expect(calls).toEqual(expected)
  },
)

test('no look is in flight when the loop has ended', async () => {
  const { context, time, calls, gate } = storeOf()
  const { promise, resolve } = Promise.withResolvers<void>()
  gate.opened = promise
  const { stop } = follow(context)
  for (let second = 1; second <= 6; second++) await time.step(1_000)
  expect(calls).toEqual(['load 0'])
  let isStopped = false
  const stopping = stop().then(() => (isStopped = true))
  await time.step(1_000)
  expect(isStopped).toBe(false)
  resolve()
  await stopping
})
