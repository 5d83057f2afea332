import { getEventListeners } from 'node:events'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { describe, expect, test } from 'vitest'
import { heldStatements, turn } from '../../test/statements.ts'
import { LooseleafError } from '../errors/errors.ts'
import { createLane, type Lane, type LaneOptions } from './lane.ts'

type Options = Partial<LaneOptions<string, string>>

/** Creates a lane of strings over statements that the test answers. The key of the item `a:1` is `a`. */
function laneOf(options: Options = {}) {
  const statements = heldStatements<string>()
  const lane = createLane<string, string>({
    name: 'shard 0 entities insert',
    run: statements.run,
    maxBatch: 100,
    maxQueue: 1000,
    ...options,
  })
  return { lane, statements }
}

/** Submits all items in one turn. Resolves with their results; an error counts as its code or message. */
function submitAll(
  lane: Lane<string, string>,
  items: readonly string[],
  signal?: AbortSignal,
): Promise<string[]> {
  return Promise.all(items.map((item) => lane.submit(item, signal).catch(outcomeOf)))
}

function outcomeOf(error: unknown): string {
  return error instanceof LooseleafError ? error.code : String(error)
}

const permanent = new LooseleafError('STATEMENT_FAILED', 'One of the rows is at fault.')

describe('gathering', () => {
  test('a lone call goes out at once', async () => {
    const { lane, statements } = laneOf()
    const outcome = lane.submit('a')
    expect((await statements.inFlight()).items).toEqual(['a'])
    await statements.answerAll()
    expect(await outcome).toBe('a done')
  })

  test('calls of one turn share a statement', async () => {
    const { lane, statements } = laneOf()
    const outcomes = submitAll(lane, ['a', 'b', 'c'])
    await statements.answerAll()
    expect(statements.sent).toEqual([['a', 'b', 'c']])
    expect(await outcomes).toEqual(['a done', 'b done', 'c done'])
  })

  test('calls that arrive during a statement share the next one', async () => {
    const { lane, statements } = laneOf()
    const first = submitAll(lane, ['a'])
    const statement = await statements.inFlight()
    const later = submitAll(lane, ['b', 'c'])
    await turn()
    const latest = submitAll(lane, ['d'])
    await turn()
    expect(statements.sent).toEqual([['a']])
    await statement.answer()
    expect(statements.sent).toEqual([['a'], ['b', 'c', 'd']])
    await statements.answerAll()
    expect([await first, await later, await latest].flat()).toEqual(['a done', 'b done', 'c done', 'd done'])
  })

  test('a call goes out at once after the lane was idle', async () => {
    const { lane, statements } = laneOf()
    for (const item of ['a', 'b', 'c']) {
      const outcome = lane.submit(item)
      await statements.answerAll()
      expect(await outcome).toBe(`${item} done`)
    }
    expect(statements.sent).toEqual([['a'], ['b'], ['c']])
  })

  test('a call that is made when another resolves is sent', async () => {
    const { lane, statements } = laneOf()
    const outcome = lane.submit('a').then(() => lane.submit('b'))
    await statements.answerAll()
    await statements.answerAll()
    expect(await outcome).toBe('b done')
  })

  test('a statement has no more than maxBatch items, in the order of the calls', async () => {
    const { lane, statements } = laneOf({ maxBatch: 2 })
    const outcomes = submitAll(lane, ['a', 'b', 'c', 'd', 'e'])
    await statements.answerAll()
    expect(statements.sent).toEqual([['a', 'b'], ['c', 'd'], ['e']])
    expect(await outcomes).toHaveLength(5)
    expect(lane.statements).toBe(3)
  })

  test('a statement has no more than maxBytes, except for one larger item', async () => {
    const { lane, statements } = laneOf({ maxBytes: 4, bytesOf: (item) => item.length })
    const outcomes = submitAll(lane, ['aa', 'bb', 'c', 'larger than all', 'dddd', 'e'])
    await statements.answerAll()
    expect(statements.sent).toEqual([['aa', 'bb'], ['c', 'e'], ['larger than all'], ['dddd']])
    expect(await outcomes).toHaveLength(6)
  })
})

describe('gathering under load', () => {
  /** A gather that the test ends, and that counts its calls. */
  function heldGather() {
    const open: (() => void)[] = []
    let times = 0
    return {
      gather: () => {
        times++
        return new Promise<void>((resolve) => open.push(resolve))
      },
      async end() {
        for (const resolve of open.splice(0)) resolve()
        await turn()
      },
      get times() {
        return times
      },
    }
  }

  /** A lane in which two calls have just shared a statement. */
  async function laneAfterSharedStatement(): Promise<
    ReturnType<typeof laneOf> & { gathers: ReturnType<typeof heldGather> }
  > {
    const gathers = heldGather()
    const gathered = laneOf({ gather: gathers.gather })
    const both = submitAll(gathered.lane, ['a', 'b'])
    await turn()
    await gathers.end()
    await gathered.statements.answerAll()
    await both
    return { gathers, ...gathered }
  }

  test('a lone call does not wait for gather', async () => {
    const gathers = heldGather()
    const { lane, statements } = laneOf({ gather: gathers.gather })
    for (const item of ['a', 'b']) {
      const outcome = lane.submit(item)
      await statements.answerAll()
      expect(await outcome).toBe(`${item} done`)
    }
    expect(gathers.times).toBe(0)
  })

  test('a lone call of many items does not wait for gather', async () => {
    const gathers = heldGather()
    const { lane, statements } = laneOf({ gather: gathers.gather })
    for (let round = 0; round < 2; round++) {
      const outcome = lane.submitAll(['a', 'b', 'c'])
      await statements.answerAll()
      expect(await outcome).toEqual(['a done', 'b done', 'c done'])
    }
    expect(gathers.times).toBe(0)
  })

  test('after a shared statement, the next eight lone calls wait for gather', async () => {
    const { gathers, lane, statements } = await laneAfterSharedStatement()
    const gathersByCall: number[] = []
    for (let call = 0; call < 12; call++) {
      const before = gathers.times
      const outcome = lane.submit('c')
      await turn()
      await gathers.end()
      await statements.answerAll()
      expect(await outcome).toBe('c done')
      gathersByCall.push(gathers.times - before)
    }
    expect(gathersByCall).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0])
  })

  test('calls that arrive during gather share the statement', async () => {
    const gathers = heldGather()
    const { lane, statements } = laneOf({ gather: gathers.gather })
    const first = submitAll(lane, ['a', 'b'])
    await turn()
    const later = submitAll(lane, ['c'])
    await turn()
    expect(statements.sent).toEqual([])
    await gathers.end()
    expect(statements.sent).toEqual([['a', 'b', 'c']])
    await statements.answerAll()
    expect([await first, await later].flat()).toEqual(['a done', 'b done', 'c done'])
  })

  test('a lone call after a shared statement waits for others to join it', async () => {
    const { gathers, lane, statements } = await laneAfterSharedStatement()
    const second = submitAll(lane, ['c'])
    await turn()
    const third = submitAll(lane, ['d'])
    await turn()
    await gathers.end()
    expect(statements.sent).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
    await statements.answerAll()
    expect([await second, await third].flat()).toEqual(['c done', 'd done'])
  })

  test('a queue of enoughRows items goes out without gather', async () => {
    const gathers = heldGather()
    const { lane, statements } = laneOf({ gather: gathers.gather, enoughRows: 3 })
    const few = submitAll(lane, ['a', 'b'])
    await turn()
    expect(statements.sent).toEqual([])
    await gathers.end()
    const enough = submitAll(lane, ['c', 'd', 'e'])
    await statements.answerAll()
    await few
    await turn()
    expect(statements.sent).toEqual([
      ['a', 'b'],
      ['c', 'd', 'e'],
    ])
    await statements.answerAll()
    expect(await enough).toEqual(['c done', 'd done', 'e done'])
    expect(gathers.times).toBe(1)
  })

  test.each([
    [['1', '1'], 1],
    [['1', '2'], 0],
  ])('enoughRows counts the rows of items: %j', async (items, times) => {
    const gathers = heldGather()
    const { lane, statements } = laneOf({ gather: gathers.gather, enoughRows: 3, rowsOf: Number })
    const outcomes = submitAll(lane, items)
    await turn()
    expect(gathers.times).toBe(times)
    await gathers.end()
    await statements.answerAll()
    expect(await outcomes).toEqual(items.map((item) => `${item} done`))
  })

  test('a lane whose calls are all aborted during gather sends nothing and stays usable', async () => {
    const gathers = heldGather()
    const { lane, statements } = laneOf({ gather: gathers.gather })
    const controller = new AbortController()
    const cancelled = submitAll(lane, ['a', 'b'], controller.signal)
    await turn()
    controller.abort()
    expect(await cancelled).toEqual(['ABORTED', 'ABORTED'])
    await gathers.end()
    expect(statements.sent).toEqual([])
    const outcome = lane.submit('c')
    await statements.answerAll()
    expect(await outcome).toBe('c done')
  })
})

describe('keys', () => {
  const keyOf = (item: string): string => item.split(':')[0] as string

  test('two items of one key never share a statement, and others do not wait for them', async () => {
    const { lane, statements } = laneOf({ keyOf })
    const outcomes = submitAll(lane, ['a:1', 'a:2', 'b:1', 'a:3', 'b:2', 'c:1'])
    await statements.answerAll()
    expect(statements.sent).toEqual([['a:1', 'b:1', 'c:1'], ['a:2', 'b:2'], ['a:3']])
    expect(await outcomes).toHaveLength(6)
  })

  test('an item that was left out for its group is not overtaken by a later one of its key', async () => {
    const { lane, statements } = laneOf({ keyOf, groupOf: (item) => item.split(':')[2] })
    const outcomes = submitAll(lane, ['a:1:old', 'b:1:new', 'b:2:old'])
    await statements.answerAll()
    expect(statements.sent).toEqual([['a:1:old'], ['b:1:new'], ['b:2:old']])
    expect(await outcomes).toHaveLength(3)
  })

  test('an item that was left out for its weight is not overtaken by a later one of its key', async () => {
    const { lane, statements } = laneOf({ keyOf, maxBytes: 10, bytesOf: (item) => item.length })
    const outcomes = submitAll(lane, ['a:1', 'b:long-enough', 'b:2', 'c:1'])
    await statements.answerAll()
    expect(statements.sent).toEqual([['a:1', 'c:1'], ['b:long-enough'], ['b:2']])
    expect(await outcomes).toHaveLength(4)
  })

  test('the items of each key keep their order within every limit', async () => {
    const item = fc.tuple(
      fc.constantFrom('a', 'b', 'c', 'd'),
      fc.constantFrom('x', 'y'),
      fc.integer({ min: 1, max: 9 }),
    )
    const limits = fc.record({
      maxBatch: fc.integer({ min: 1, max: 5 }),
      maxBytes: fc.integer({ min: 1, max: 20 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 40 }), limits, async (list, { maxBatch, maxBytes }) => {
        const items = list.map(([key, group, bytes], i) => `${key}:${group}:${bytes}:${i}`)
        const part = (text: string, i: number): string => text.split(':')[i] as string
        const bytesOf = (text: string): number => Number(part(text, 2))
        const { lane, statements } = laneOf({
          keyOf,
          groupOf: (text) => part(text, 1),
          bytesOf,
          maxBatch,
          maxBytes,
        })
        const outcomes = submitAll(lane, items)
        while (statements.sent.flat().length < items.length) await statements.answerAll()
        expect(await outcomes).toEqual(items.map((text) => `${text} done`))
        for (const batch of statements.sent) {
          expect(batch.length).toBeLessThanOrEqual(maxBatch)
          expect(new Set(batch.map(keyOf)).size).toBe(batch.length)
          expect(new Set(batch.map((text) => part(text, 1))).size).toBe(1)
          const bytes = batch.reduce((sum, text) => sum + bytesOf(text), 0)
          expect(batch.length === 1 || bytes <= maxBytes).toBe(true)
        }
        const order = statements.sent.flat()
        for (const key of ['a', 'b', 'c', 'd']) {
          expect(order.filter((text) => keyOf(text) === key)).toEqual(
            items.filter((text) => keyOf(text) === key),
          )
        }
      }),
      { numRuns: runsOf(100) },
    )
  })
})

describe('groups', () => {
  test('only items of one group share a statement', async () => {
    const { lane, statements } = laneOf({ groupOf: (item) => item[0] })
    const outcomes = submitAll(lane, ['x1', 'y1', 'x2', 'y2'])
    await statements.answerAll()
    expect(statements.sent).toEqual([
      ['x1', 'x2'],
      ['y1', 'y2'],
    ])
    expect(await outcomes).toHaveLength(4)
  })

  test('undefined is a group of its own', async () => {
    const { lane, statements } = laneOf({ groupOf: (item) => (item.startsWith('x') ? 'x' : undefined) })
    const outcomes = submitAll(lane, ['a', 'x', 'b'])
    await statements.answerAll()
    expect(statements.sent).toEqual([['a', 'b'], ['x']])
    expect(await outcomes).toHaveLength(3)
  })
})

describe('the bound of the queue', () => {
  /** A lane with one statement in flight and an empty queue. */
  async function busyLane(options: Options = {}) {
    const { lane, statements } = laneOf({ maxQueue: 2, maxBatch: 2, ...options })
    const first = lane.submit('a')
    await statements.inFlight()
    return { lane, statements, first }
  }

  test('a call that finds no room waits its turn', async () => {
    const { lane, statements, first } = await busyLane()
    const others = submitAll(lane, ['b', 'c', 'd', 'e'])
    await statements.answerAll()
    expect([await first, ...(await others)]).toEqual(['a', 'b', 'c', 'd', 'e'].map((item) => `${item} done`))
    expect(statements.sent).toEqual([['a'], ['b', 'c'], ['d', 'e']])
  })

  test('a call of many items waits until there is room for all, and later calls do not overtake it', async () => {
    const { lane, statements } = await busyLane({ maxQueue: 3 })
    const second = submitAll(lane, ['b', 'c'])
    const many = lane.submitAll(['d', 'e', 'f'])
    const small = lane.submit('g')
    await statements.answerAll()
    expect(statements.sent).toEqual([['a'], ['b', 'c'], ['d', 'e'], ['f', 'g']])
    expect([...(await second), ...(await many), await small]).toHaveLength(6)
  })

  test('a call of more items than the queue holds goes out once the queue is empty', async () => {
    const { lane, statements } = await busyLane()
    const second = lane.submit('b')
    const many = lane.submitAll(['c', 'd', 'e', 'f', 'g'])
    await statements.answerAll()
    expect(statements.sent.flat()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'])
    expect([await second, ...(await many)]).toHaveLength(6)
  })

  test('a call that waits for room longer than maxWaitMs rejects with SHARD_BUSY, which is retryable and names the lane', async () => {
    const { lane, statements, first } = await busyLane({ maxWaitMs: 5 })
    const queued = submitAll(lane, ['b', 'c'])
    const many = lane.submitAll(['d', 'e']).catch((error: unknown) => error)
    const refusal = await many
    expect(refusal).toMatchObject({ code: 'SHARD_BUSY', retryable: true, unknownOutcome: false })
    expect((refusal as Error).message).toContain('shard 0 entities insert')
    await statements.answerAll()
    expect([await first, ...(await queued)]).toEqual(['a done', 'b done', 'c done'])
    expect(statements.sent.flat()).toEqual(['a', 'b', 'c'])
  })

  test('a call behind one that waited too long takes its turn', async () => {
    const { lane, statements } = await busyLane({ maxQueue: 3, maxWaitMs: 50 })
    const queued = lane.submitAll(['b', 'c'])
    const many = lane.submitAll(['d', 'e', 'f']).catch(outcomeOf)
    await new Promise((resolve) => setTimeout(resolve, 25))
    const small = lane.submit('g')
    expect(await many).toBe('SHARD_BUSY')
    await statements.answerAll()
    expect([...(await queued), await small]).toEqual(['b done', 'c done', 'g done'])
  })

  test('maxQueue calls may wait for room, and one more rejects at once', async () => {
    const { lane, statements } = await busyLane()
    const waiting = submitAll(lane, ['b', 'c', 'd', 'e'])
    expect(await lane.submit('f').catch(outcomeOf)).toBe('SHARD_BUSY')
    await statements.answerAll()
    expect(await waiting).toEqual(['b done', 'c done', 'd done', 'e done'])
    expect(statements.sent.flat()).not.toContain('f')
  })

  test('a signal ends the wait for room at once, and the call behind takes its turn', async () => {
    const { lane, statements } = await busyLane({ maxQueue: 3 })
    const controller = new AbortController()
    const queued = lane.submitAll(['b', 'c'])
    const cancelled = lane.submitAll(['d', 'e'], controller.signal).catch(outcomeOf)
    const small = lane.submit('f')
    controller.abort()
    expect(await cancelled).toBe('ABORTED')
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    await statements.answerAll()
    expect([...(await queued), await small]).toEqual(['b done', 'c done', 'f done'])
    expect(statements.sent).toEqual([['a'], ['b', 'c'], ['f']])
  })

  test('calls of all sizes get their answers in order while others are aborted', async () => {
    const call = fc.record({ size: fc.integer({ min: 1, max: 9 }), isCancelled: fc.boolean() })
    const limits = fc.record({
      maxBatch: fc.integer({ min: 1, max: 4 }),
      maxQueue: fc.integer({ min: 1, max: 12 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 12 }), limits, async (calls, given) => {
        const { lane, statements } = laneOf(given)
        const controller = new AbortController()
        const outcomes = calls.map(({ size, isCancelled }, number) => {
          const items = Array.from({ length: size }, (_, i) => `${number}:${i}`)
          return lane.submitAll(items, isCancelled ? controller.signal : undefined).catch(outcomeOf)
        })
        await turn()
        controller.abort()
        await statements.answerAll()
        for (const [number, { size, isCancelled }] of calls.entries()) {
          const outcome = await outcomes[number]
          if (isCancelled || outcome === 'SHARD_BUSY') {
            expect(outcome).toBe(isCancelled && outcome !== 'SHARD_BUSY' ? 'ABORTED' : 'SHARD_BUSY')
            continue
          }
          expect(outcome).toEqual(Array.from({ length: size }, (_, i) => `${number}:${i} done`))
        }
        const numbers = statements.sent.flat().map((item) => Number(item.split(':')[0]))
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
        // A call is refused only if maxQueue calls wait before it.
        const refused = (await Promise.all(outcomes)).filter((outcome) => outcome === 'SHARD_BUSY')
        expect(refused.length).toBeLessThanOrEqual(Math.max(0, calls.length - given.maxQueue))
      }),
      { numRuns: runsOf(200) },
    )
  })

  test('an aborted call leaves its room in the queue to another', async () => {
    const { lane, statements } = laneOf({ maxQueue: 1, maxWaitMs: 60_000 })
    const first = lane.submit('a')
    await statements.inFlight()
    const controller = new AbortController()
    const cancelled = lane.submit('b', controller.signal).catch(outcomeOf)
    const third = lane.submit('c')
    controller.abort()
    await statements.answerAll()
    expect(await Promise.all([first, cancelled, third])).toEqual(['a done', 'ABORTED', 'c done'])
  })
})

describe('calls of many items', () => {
  test('a call of many items gets its results in order, over several statements', async () => {
    const { lane, statements } = laneOf({ maxBatch: 2 })
    const outcome = lane.submitAll(['a', 'b', 'c'])
    await statements.answerAll()
    expect(await outcome).toEqual(['a done', 'b done', 'c done'])
    expect(await lane.submitAll([])).toEqual([])
  })

  test('a call of many items fails with its first error when all items have ended', async () => {
    const { lane, statements } = laneOf({ maxBatch: 1 })
    let hasEnded = false
    const outcome = lane.submitAll(['a', 'b']).catch(outcomeOf)
    void outcome.then(() => (hasEnded = true))
    await (await statements.inFlight()).fail(permanent)
    const second = await statements.inFlight()
    expect([second.items, hasEnded]).toEqual([['b'], false])
    await second.answer()
    expect(await outcome).toBe('STATEMENT_FAILED')
  })

  test('an aborted call of many items leaves the queue with all of them', async () => {
    const { lane, statements } = laneOf({ maxBatch: 1 })
    const controller = new AbortController()
    const outcome = lane.submitAll(['a', 'b', 'c'], controller.signal).catch(outcomeOf)
    const other = lane.submit('d')
    await statements.inFlight()
    controller.abort()
    expect(await outcome).toBe('ABORTED')
    await statements.answerAll()
    expect(await other).toBe('d done')
    expect(statements.sent).toEqual([['a'], ['d']])
  })
})

describe('errors', () => {
  test.each([1, 2, 3, 7, 64])('one bad row of %i fails alone, at any position', async (count) => {
    for (let bad = 0; bad < count; bad++) {
      const items = Array.from({ length: count }, (_, i) => (i === bad ? 'bad' : `row ${i}`))
      const lane = createLane<string, string>({
        name: 'lane',
        maxBatch: 100,
        maxQueue: 100,
        run: async (batch) => {
          if (batch.includes('bad')) throw permanent
          return batch.map((item) => `${item} done`)
        },
      })
      const expected = items.map((item) => (item === 'bad' ? 'STATEMENT_FAILED' : `${item} done`))
      expect(await submitAll(lane, items)).toEqual(expected)
      // Each halving sends two halves.
      expect(lane.statements).toBeLessThanOrEqual(1 + 2 * Math.ceil(Math.log2(count)))
    }
  })

  test('several bad rows fail alone, each with its own error', async () => {
    const lane = createLane<string, string>({
      name: 'lane',
      maxBatch: 100,
      maxQueue: 100,
      run: async (batch) => {
        const bad = batch.find((item) => item.startsWith('bad'))
        if (bad !== undefined) throw new LooseleafError('ALREADY_EXISTS', `${bad} is there.`)
        return batch.map((item) => `${item} done`)
      },
    })
    const outcomes = await Promise.allSettled(
      ['bad 1', 'a', 'b', 'bad 2', 'bad 3'].map((item) => lane.submit(item)),
    )
    expect(outcomes.map((o) => (o.status === 'fulfilled' ? o.value : (o.reason as Error).message))).toEqual([
      'bad 1 is there.',
      'a done',
      'b done',
      'bad 2 is there.',
      'bad 3 is there.',
    ])
  })

  const wholeBatch: Record<string, unknown> = {
    SHARD_UNAVAILABLE: new LooseleafError('SHARD_UNAVAILABLE', 'The shard is away.'),
    DEADLINE: new LooseleafError('DEADLINE', 'It took too long.'),
    OUTCOME_UNKNOWN: new LooseleafError('OUTCOME_UNKNOWN', 'The answer was lost.'),
    INDEX_NOT_FOUND: new LooseleafError('INDEX_NOT_FOUND', 'There is no such table.'),
    'STATEMENT_FAILED with unknownOutcome': new LooseleafError(
      'STATEMENT_FAILED',
      'Its outcome is unknown.',
      {
        unknownOutcome: true,
      },
    ),
    ABORTED: new LooseleafError('ABORTED', 'It was cancelled.'),
    CLOSED: new LooseleafError('CLOSED', 'The store is closed.'),
    TypeError: new TypeError('a bug'),
  }

  test.each(Object.keys(wholeBatch))(
    'the error %s fails the whole batch, and nothing is sent again',
    async (kind) => {
      const { lane, statements } = laneOf()
      const outcomes = Promise.allSettled(['a', 'b', 'c'].map((item) => lane.submit(item)))
      await (await statements.inFlight()).fail(wholeBatch[kind])
      await turn()
      expect(statements.sent).toEqual([['a', 'b', 'c']])
      for (const outcome of await outcomes)
        expect(outcome).toEqual({ status: 'rejected', reason: wholeBatch[kind] })
    },
  )

  test('a lane stays usable after a failed statement', async () => {
    const { lane, statements } = laneOf()
    const first = lane.submit('a').catch(outcomeOf)
    const statement = await statements.inFlight()
    const second = lane.submit('b')
    await statement.fail(permanent)
    await statements.answerAll()
    expect([await first, await second]).toEqual(['STATEMENT_FAILED', 'b done'])
    const third = lane.submit('c')
    await statements.answerAll()
    expect(await third).toBe('c done')
  })

  test('a run that throws synchronously fails its calls', async () => {
    const lane = createLane<string, string>({
      name: 'lane',
      maxBatch: 2,
      maxQueue: 10,
      run: () => {
        throw new TypeError('at once')
      },
    })
    expect(await submitAll(lane, ['a', 'b', 'c'])).toEqual(
      Array.from({ length: 3 }, () => 'TypeError: at once'),
    )
  })

  test('the halves of a failed batch are sent one after the other, before queued calls', async () => {
    const { lane, statements } = laneOf()
    const outcomes = submitAll(lane, ['a', 'b'])
    const statement = await statements.inFlight()
    const waiting = submitAll(lane, ['c'])
    await statement.fail(permanent)
    expect((await statements.inFlight()).items).toEqual(['a'])
    await statements.answerAll()
    expect(statements.sent).toEqual([['a', 'b'], ['a'], ['b'], ['c']])
    expect([...(await outcomes), ...(await waiting)]).toEqual(['a done', 'b done', 'c done'])
  })
})

describe('signals', () => {
  test('a call that is aborted in flight is in neither half of its failed statement', async () => {
    const { lane, statements } = laneOf()
    const cancelling = new AbortController()
    const outcomes = submitAll(lane, ['bad', 'y'])
    const cancelled = lane.submit('w', cancelling.signal).catch(outcomeOf)
    const statement = await statements.inFlight()
    cancelling.abort()
    expect(await cancelled).toBe('ABORTED')
    await statement.fail(permanent)
    await (await statements.inFlight()).fail(permanent)
    await statements.answerAll()
    expect(statements.sent).toEqual([['bad', 'y', 'w'], ['bad'], ['y']])
    expect(await outcomes).toEqual(['STATEMENT_FAILED', 'y done'])
  })

  test('a call whose signal fired before is not sent', async () => {
    const { lane, statements } = laneOf()
    expect(await lane.submit('a', AbortSignal.abort()).catch(outcomeOf)).toBe('ABORTED')
    await turn()
    expect(statements.sent).toEqual([])
  })

  test('a call that is aborted in the turn of its submission is not sent', async () => {
    const { lane, statements } = laneOf()
    const controller = new AbortController()
    const outcome = lane.submit('a', controller.signal).catch(outcomeOf)
    controller.abort()
    expect(await outcome).toBe('ABORTED')
    await turn()
    expect(statements.sent).toEqual([])
  })

  test('an aborted call in the queue is not sent, and the others are', async () => {
    const { lane, statements } = laneOf()
    const first = lane.submit('a')
    await statements.inFlight()
    const controller = new AbortController()
    const cancelled = lane.submit('b', controller.signal).catch(outcomeOf)
    const third = lane.submit('c')
    controller.abort(new Error('the user left'))
    // The statement in flight has no answer yet.
    expect(await cancelled).toBe('ABORTED')
    await statements.answerAll()
    expect(await Promise.all([first, third])).toEqual(['a done', 'c done'])
    expect(statements.sent).toEqual([['a'], ['c']])
  })

  test('a call that is aborted in flight ends at once, and its statement continues for the other calls', async () => {
    const { lane, statements } = laneOf()
    const controller = new AbortController()
    const cancelled = lane.submit('a', controller.signal).catch(outcomeOf)
    const other = lane.submit('b')
    const statement = await statements.inFlight()
    controller.abort()
    expect(await cancelled).toBe('ABORTED')
    const later = lane.submit('c')
    await turn()
    expect(statements.sent).toEqual([['a', 'b']])
    await statement.answer()
    await statements.answerAll()
    expect(await Promise.all([other, later])).toEqual(['b done', 'c done'])
  })

  test('the reason of the signal is the cause of the ABORTED error', async () => {
    const { lane } = laneOf()
    const reason = new Error('the user left')
    const error = await lane.submit('a', AbortSignal.abort(reason)).catch((thrown: unknown) => thrown)
    expect((error as Error).cause).toBe(reason)
  })

  test('a call removes its listener from the signal when it ends', async () => {
    const { lane, statements } = laneOf()
    const { signal } = new AbortController()
    const good = submitAll(lane, ['a', 'b'], signal)
    await (await statements.inFlight()).answer()
    const bad = submitAll(lane, ['c'], signal)
    await (await statements.inFlight()).fail(permanent)
    expect([await good, await bad]).toEqual([['a done', 'b done'], ['STATEMENT_FAILED']])
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

describe('options that throw', () => {
  const fault = new Error('A fault of the caller.')
  const fail = (): never => {
    throw fault
  }

  const faults: Readonly<Record<string, Options>> = {
    'a gather that rejects': { gather: () => Promise.reject(fault) },
    'a gather that throws': { gather: fail },
    'a rowsOf that throws': { gather: async () => {}, enoughRows: 10, rowsOf: fail },
    'a keyOf that throws': { keyOf: fail },
    'a groupOf that throws': { groupOf: fail },
    'a bytesOf that throws': { bytesOf: fail },
  }

  test.each(Object.keys(faults))('%s rejects the queued calls, and sends nothing', async (name) => {
    const { lane, statements } = laneOf({ maxQueue: 2, ...faults[name] })
    // The third and fourth call wait for room.
    expect(await submitAll(lane, ['a', 'b', 'c', 'd'])).toEqual(
      Array.from({ length: 4 }, () => String(fault)),
    )
    expect(statements.sent).toEqual([])
    expect(lane.waiting).toBe(0)
  })

  test('a lane is usable after an error of gather', async () => {
    let faulty = true
    const { lane, statements } = laneOf({
      gather: async () => {
        if (faulty) throw fault
      },
    })
    expect(await submitAll(lane, ['a', 'b'])).toEqual([String(fault), String(fault)])
    faulty = false
    const outcomes = submitAll(lane, ['c', 'd'])
    await statements.answerAll()
    expect(await outcomes).toEqual(['c done', 'd done'])
  })

  test('an error of onHalved rejects the calls of its batch, and later calls are sent', async () => {
    const { lane, statements } = laneOf({ onHalved: fail })
    const outcomes = submitAll(lane, ['a', 'b'])
    await (await statements.inFlight()).fail(permanent)
    expect(await outcomes).toEqual([String(fault), String(fault)])
    const later = lane.submit('c')
    await statements.answerAll()
    expect(await later).toBe('c done')
    expect(statements.sent).toEqual([['a', 'b'], ['c']])
  })
})
