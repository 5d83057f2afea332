import type { Time } from '@looseleaf/core'
import { inBackground, systemTime } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { PlacedKey } from '@looseleaf/protocol/internal'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createRowRemovals, type RowRemovals } from './row-removals.ts'

// Limits and times of kept rows and of deletes, without a database.

/** Kept rows stay for a tenth longer than this. */
const QUERY_TIME_MS = 1_000
const EPOCH = 3

let now: number
let pauses: number[]
let signals: AbortSignal[]
let wake: (() => void) | undefined
/** Number of rows of each delete, in order. */
let sent: number[]
let answer: () => Promise<void>
let warnings: string[]
/** The epoch of the shard; undefined if it has lost its catalog. */
let epoch: number | undefined
let removals: RowRemovals

const time: Time = {
  now: () => now,
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      pauses.push(milliseconds)
      wake = resolve
      if (signal === undefined) return
      signals.push(signal)
      signal.addEventListener('abort', () => reject(new Error('aborted')))
    }),
}

function create(clock: Time = time): RowRemovals {
  const catalog = { current: () => ({ queryTimeMs: QUERY_TIME_MS }) }
  const indexRows = {
    remove(rows: readonly PlacedKey[]) {
      sent.push(rows.length)
      return answer()
    },
  }
  const driver = { shards: [{ catalog: { load: async () => epoch && { epoch } } }] }
  const events = { detached: <T>(work: () => T) => work() }
  const context = { time: clock, catalog, driver, events } as unknown as EngineContext
  return createRowRemovals(context, indexRows, (message) => void warnings.push(message))
}

const ID = new Uint8Array(16)
const rows = (count: number): PlacedKey[] => Array.from({ length: count }, () => ({}) as PlacedKey)
const commit = { entityId: ID, version: 7, shard: 0, epoch: EPOCH }
const later = (count: number): void => removals.later(rows(count), commit)
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Lets this many milliseconds pass, and ends the current pause. */
async function pass(milliseconds: number): Promise<void> {
  now += milliseconds
  const end = wake
  wake = undefined
  end?.()
  await turn()
}

beforeEach(() => {
  now = 1_000_000
  pauses = []
  signals = []
  wake = undefined
  sent = []
  answer = async () => {}
  warnings = []
  epoch = EPOCH
  removals = create()
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe('rows that are kept', () => {
  it('one pause at a time waits for the kept rows, a little longer than until the first falls due', async () => {
    later(1)
    later(2)
    expect(pauses).toEqual([1_125])
    now += 500
    later(4)
    await pass(625)
    expect(sent).toEqual([1, 2])
    expect(pauses).toEqual([1_125, 475 + 25])
    await pass(500)
    expect(sent).toEqual([1, 2, 4])
    expect(pauses).toHaveLength(2)
  })

  it('rows that fall due within the pause are deleted with the first ones, also at its very end', async () => {
    later(1)
    now += 25
    later(2)
    now += 1
    later(4)
    await pass(1_099)
    expect(sent).toEqual([1, 2])
  })

  it('a new pause begins when rows are kept again after a while', async () => {
    later(1)
    await pass(1_125)
    later(2)
    await pass(1_125)
    expect(sent).toEqual([1, 2])
  })

  it('kept rows are deleted in parts after the process was blocked', async () => {
    for (const count of [2_500, 2_500, 1, 2]) later(count)
    await pass(60_000)
    expect(sent).toEqual([2_500, 2_500])
    expect(pauses).toEqual([1_125, 25])
    await pass(25)
    expect(sent).toEqual([2_500, 2_500, 1, 2])
  })

  it('at most 100,000 rows are kept; the cleaner gets the others, with one warning until there is room again', async () => {
    later(60_000)
    later(40_000)
    expect(warnings).toEqual([])
    later(1)
    later(2)
    expect(warnings).toEqual([expect.stringContaining('More than 100000 index rows')])
    await pass(60_000)
    await pass(25)
    expect(sent).toEqual([60_000, 40_000])
    later(100_000)
    later(1)
    await pass(60_000)
    expect(sent).toEqual([60_000, 40_000, 100_000])
    expect(warnings).toHaveLength(2)
  })

  it.each([
    [49_999, 1],
    [50_000, 2],
  ])(
    'after %i of 100,000 kept rows are deleted, the next overflow makes %i warnings in all',
    async (gone, times) => {
      later(gone)
      now += 500
      later(100_000 - gone)
      later(1)
      expect(warnings).toHaveLength(1)
      await pass(625)
      expect(sent).toEqual([gone])
      later(50_001)
      expect(warnings).toHaveLength(times)
    },
  )

  it('kept rows stay if the shard of their entities has lost its catalog', async () => {
    epoch = undefined
    later(1)
    await pass(1_125)
    await removals.settled()
    expect([sent, warnings]).toEqual([[], []])
  })

  it('kept rows do not keep the process alive', () => {
    const quiet = vi.spyOn(inBackground(systemTime), 'sleep').mockReturnValue(new Promise(() => {}))
    const loud = vi.spyOn(systemTime, 'sleep').mockReturnValue(new Promise(() => {}))
    removals = create(systemTime)
    later(1)
    expect([quiet.mock.calls.length, loud.mock.calls.length]).toEqual([1, 0])
  })

  it('closing makes room for other rows', async () => {
    later(100_000)
    await removals.close()
    later(100_000)
    expect(warnings).toEqual([])
  })
})

describe('deletes', () => {
  it('an empty list of rows sends no delete', () => {
    removals.now([], ID, 7)
    removals.later([], commit)
    expect([sent, pauses]).toEqual([[], []])
  })

  it('a failed delete leaves its rows to the cleaner, with a warning', async () => {
    answer = () => Promise.reject(new Error('away'))
    removals.now(rows(1), ID, 7)
    await removals.settled()
    expect(warnings).toEqual(['Index rows that are no longer needed are left to the cleaner: Error: away'])
  })

  it('closing waits for the deletes in flight', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    answer = () => promise
    removals.now(rows(1), ID, 7)
    let isClosed = false
    const closing = removals.close().then(() => (isClosed = true))
    await turn()
    expect(isClosed).toBe(false)
    resolve()
    await closing
  })

  it('due deletes wait while more than 5,000 are in flight', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    answer = () => promise
    for (let i = 0; i < 10_001; i++) later(1)
    await pass(60_000)
    expect([sent.length, removals.isFull]).toEqual([5_000, false])
    await pass(25)
    expect([sent.length, removals.isFull]).toEqual([10_000, true])
    await pass(25)
    expect(sent).toHaveLength(10_000)
    resolve()
    await turn()
    await pass(25)
    expect(sent).toHaveLength(10_001)
  })
})

describe('settled', () => {
  it('settled waits for the last kept rows in one pause', async () => {
    later(1)
    now += 400
    later(1)
    let isSettled = false
    void removals.settled().then(() => (isSettled = true))
    expect(pauses).toEqual([1_125, 1_100])
    expect(isSettled).toBe(false)
  })

  it('settled and the pause do not wait for rows that close has left to the cleaner', async () => {
    later(1)
    await removals.close()
    await removals.settled()
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })
})
