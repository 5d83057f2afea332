import type { Shard } from '@looseleaf/core'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { isMoving, isQuiet } from './quiet-shards.ts'
import { looksOf, type Looks } from './shard-looks.ts'

type Parts = Parameters<typeof looksOf>[0]
type Floor = { readonly epoch: number }

/** A server whose answers come when the test gives them. */
function serverOf(): { readonly server: Shard; readonly questions: PromiseWithResolvers<Floor>[] } {
  const questions: PromiseWithResolvers<Floor>[] = []
  const entities = {
    floor() {
      const question = Promise.withResolvers<Floor>()
      questions.push(question)
      return question.promise
    },
  }
  return { server: { entities } as unknown as Shard, questions }
}

function looksWith(time = leapingTime()): Looks {
  const events = { detached: <T>(work: () => T): T => work() }
  return looksOf({ time, events } as unknown as Parts)
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('all parts of a process share the looks at a server', () => {
  const context = { time: leapingTime(), events: {} } as unknown as Parts
  const { server } = serverOf()
  expect(looksOf(context).of(server)).toBe(looksOf(context).of(server))
  expect(looksOf(context).of(server)).not.toBe(looksOf(context).of(serverOf().server))
})

test('a look is due after two seconds and old after four, from before its question was sent', async () => {
  const time = leapingTime()
  const { server, questions } = serverOf()
  const looks = looksWith(time).of(server)
  expect(looks.last).toBeUndefined()
  const looking = looks.soon()
  time.leap(1_500)
  questions[0]!.resolve({ epoch: 7 })
  const look = await looking
  expect(looks.last).toBe(look)
  const states: (readonly [boolean, boolean])[] = []
  for (const milliseconds of [499, 1, 1_999, 1]) {
    time.leap(milliseconds)
    states.push([look.isDue(), look.isOld()])
  }
  expect(look.epoch).toBe(7)
  expect(states).toEqual([
    [false, false],
    [true, false],
    [true, false],
    [true, true],
  ])
})

test('any question that tells the epoch counts as a look, and one without it does not', async () => {
  const looks = looksWith().of(serverOf().server)
  expect(
    await looks.by(
      async () => 'first',
      () => 3,
    ),
  ).toBe('first')
  expect(looks.last).toMatchObject({ epoch: 3 })
  expect(
    await looks.by(
      async () => 'second',
      () => undefined,
    ),
  ).toBe('second')
  expect(looks.last).toMatchObject({ epoch: 3 })
  const down = new Error('down')
  await expect(
    looks.by(
      () => Promise.reject(down),
      () => 4,
    ),
  ).rejects.toBe(down)
})

test('a look that was begun is shared by the calls that want one soon, and another begins after it', async () => {
  const { server, questions } = serverOf()
  const looks = looksWith().of(server)
  looks.begin()
  looks.begin()
  const soon = [looks.soon(), looks.soon()]
  expect(questions).toHaveLength(1)
  questions[0]!.resolve({ epoch: 1 })
  expect((await Promise.all(soon)).map(({ epoch }) => epoch)).toEqual([1, 1])
  void looks.soon()
  expect(questions).toHaveLength(2)
})

test.each([
  ['answers', (question: PromiseWithResolvers<Floor>) => question.resolve({ epoch: 1 })],
  ['fails', (question: PromiseWithResolvers<Floor>) => question.reject(new Error('down'))],
])('calls that need a later look share one that begins when the one in flight %s', async (_, end) => {
  const { server, questions } = serverOf()
  const looks = looksWith().of(server)
  looks.begin()
  const next = [looks.next(), looks.next()]
  await turn()
  expect(questions).toHaveLength(1)
  end(questions[0]!)
  await turn()
  expect(questions).toHaveLength(2)
  questions[1]!.resolve({ epoch: 2 })
  expect((await Promise.all(next)).map(({ epoch }) => epoch)).toEqual([2, 2])
  // Without a look in flight, one begins at once, and later calls wait for the one after it.
  const [third, fourth] = [looks.next(), looks.next()]
  expect(questions).toHaveLength(3)
  questions[2]!.resolve({ epoch: 3 })
  expect((await third).epoch).toBe(3)
  await turn()
  questions[3]!.resolve({ epoch: 4 })
  expect((await fourth).epoch).toBe(4)
})

test('a store that closes waits for its looks in flight, whatever they answer', async () => {
  const all = looksWith()
  const { server, questions } = serverOf()
  all.of(server).begin()
  let isClosed = false
  const closing = all.close().then(() => (isClosed = true))
  await turn()
  expect(isClosed).toBe(false)
  questions[0]!.reject(new Error('down'))
  await closing
  await looksWith().close()
})

type Catalog = Parameters<typeof isQuiet>[1]

const MOVE = { id: 1, from: 0, to: 1, buckets: '1', phase: 'both' } as const
const catalogOf = (moves?: readonly (typeof MOVE)[]): Catalog =>
  ({ epochs: [5, 6, 7], layout: { revision: 1, shards: [], moves } }) as unknown as Catalog

test('a shard is moving if an announced move leads from it or to it', () => {
  const moving = (catalog: Catalog): readonly boolean[] => [0, 1, 2].map((shard) => isMoving(catalog, shard))
  expect(moving(catalogOf([MOVE]))).toEqual([true, true, false])
  expect(moving(catalogOf([]))).toEqual([false, false, false])
  expect(moving(catalogOf())).toEqual([false, false, false])
  expect(moving({ ...catalogOf(), layout: undefined })).toEqual([false, false, false])
})

test('a shard is quiet by a recent look with the epoch of the catalog, unless it is moving', () => {
  const look = { epoch: 7, isDue: () => true, isOld: () => false }
  expect(isQuiet({ last: look }, catalogOf(), 2)).toBe(true)
  expect(isQuiet({ last: look }, catalogOf([MOVE]), 2)).toBe(true)
  expect(isQuiet({ last: undefined }, catalogOf(), 2)).toBe(false)
  expect(isQuiet({ last: look }, catalogOf(), 1)).toBe(false)
  expect(isQuiet({ last: { ...look, isOld: () => true } }, catalogOf(), 2)).toBe(false)
  expect(isQuiet({ last: { ...look, epoch: 6 } }, catalogOf([MOVE]), 1)).toBe(false)
})
