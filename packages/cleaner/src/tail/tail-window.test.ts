import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/reference-driver'
import { beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../test/stores.ts'
import { createPass, type Pass } from '../pass/pass.ts'
import { updatedPages, windowFromText, type TailWindow, type WindowOptions } from './tail-window.ts'

const SECOND = 1_000_000

let driver: ReferenceDriver
/** Of the shard, in microseconds. */
let now: number
let pass: Pass
let added: number

beforeEach(async () => {
  now = 1_000 * SECOND
  added = 0
  driver = createReferenceDriver({ shards: 1, now: () => now })
  const store = await openStore({ driver, indexes: [] })
  pass = createPass(store.context, {})
})

/** Commits entities at these seconds, and leaves the clock at the last of them. */
async function commit(...seconds: number[]): Promise<void> {
  const [shard] = driver.shards
  for (const second of seconds) {
    now = second * SECOND
    const id = Buffer.alloc(16)
    id.writeUInt32BE(++added)
    const { epoch } = shard!.contents()!
    await shard!.entities.insert([{ id, version: now, body: Buffer.from('any') }], { epoch })
  }
}

function windowAt(second: number, fields: Partial<TailWindow> = {}): TailWindow {
  return { seenUntil: second * SECOND, lookedAt: second * SECOND, gap: undefined, ...fields }
}

/** The seconds of what a round reads, page by page; `pages` of them at the most. */
async function round(
  window: TailWindow,
  options: Partial<WindowOptions> = {},
  pages = Infinity,
): Promise<number[][]> {
  const all = { rowsPerRound: 1_000, maxLagMs: 3_600_000, ...options }
  const read: number[][] = []
  if (pages === 0) return read
  for await (const page of updatedPages(pass, 0, window, all)) {
    read.push(page.map(({ updated }) => updated / SECOND))
    if (read.length === pages) break
  }
  return read
}

describe('a round', () => {
  it('reads what was updated since the last one, newest first, and moves on to the floor that it raised', async () => {
    await commit(1_001, 1_002, 1_003)
    const window = windowAt(1_002)
    expect(await round(window)).toEqual([[1_003, 1_002]])
    expect(window).toEqual(windowAt(1_003, { seenUntil: 1_003 * SECOND + 1 }))
    await commit(1_004)
    expect(await round(window)).toEqual([[1_004]])
  })

  it('raises the floor where there is something above it, and else only says that it has looked', async () => {
    await commit(1_001)
    const window = windowAt(1_000)
    await round(window)
    const { entities } = driver.shards[0]!
    const { floor } = await entities.floor()
    expect(floor).toBe(1_001 * SECOND + 1)
    now = 1_500 * SECOND
    expect(await round(window)).toEqual([])
    expect((await entities.floor()).floor).toBe(floor)
    expect(window).toEqual(windowAt(1_500, { seenUntil: floor }))
  })

  it('reads again what comes with times of before, after a failover has lost the floor', async () => {
    const window = windowAt(1_000)
    await commit(990, 995)
    expect(await round(window)).toEqual([])
    expect(window.seenUntil).toBe(995 * SECOND + 1)
    await commit(996)
    expect(await round(window)).toEqual([[996]])
  })

  it('does not look further back than it is to', async () => {
    await commit(995, 1_001, 1_030)
    const window = windowAt(1_000)
    expect(await round(window, { maxLagMs: 20_000 })).toEqual([[1_030]])
    expect(window.gap).toBeUndefined()
  })

  it('does not move on when it was cut off', async () => {
    pass = { ...pass, maxPage: 1 }
    await commit(1_001, 1_002)
    const window = windowAt(1_000)
    expect(await round(window, {}, 1)).toEqual([[1_002]])
    expect(window).toEqual(windowAt(1_000))
  })

  it('ends with the signal', async () => {
    pass = { ...pass, signal: AbortSignal.abort() }
    await commit(1_001)
    const window = windowAt(1_000)
    await expect(round(window)).rejects.toMatchObject({ code: 'ABORTED' })
    expect(window).toEqual(windowAt(1_000))
  })
})

describe('what a round has no time for', () => {
  beforeEach(async () => {
    pass = { ...pass, maxPage: 1 }
    await commit(1_001, 1_002, 1_003, 1_004)
  })

  it('is the gap, which the next one goes on with after what is new', async () => {
    const window = windowAt(1_000)
    expect(await round(window, { rowsPerRound: 2 })).toEqual([[1_004], [1_003]])
    expect(window).toMatchObject({
      seenUntil: 1_004 * SECOND + 1,
      gap: { since: 1_000 * SECOND, before: { updated: 1_003 * SECOND, addedId: 3 } },
    })
    now = 1_004.5 * SECOND
    await commit(1_005)
    expect(await round(window, { rowsPerRound: 2 })).toEqual([[1_005], [1_002]])
    expect(window.gap?.before.updated).toBe(1_002 * SECOND)
    expect(await round(window, { rowsPerRound: 2 })).toEqual([[1_001]])
    expect(window).toMatchObject({ seenUntil: 1_005 * SECOND + 1, gap: undefined })
    expect(await round(window)).toEqual([])
  })

  it('is one gap, down to the older one, when there was one before', async () => {
    const window = windowAt(1_000)
    await round(window, { rowsPerRound: 1 })
    await commit(1_005, 1_006)
    expect(await round(window, { rowsPerRound: 1 })).toEqual([[1_006]])
    expect(window.gap).toEqual({ since: 1_000 * SECOND, before: { updated: 1_006 * SECOND, addedId: 6 } })
    expect(await round(window)).toEqual([[1_005], [1_004], [1_003], [1_002], [1_001]])
  })

  it('is not left when there is time for all', async () => {
    const window = windowAt(1_000)
    expect((await round(window, { rowsPerRound: 4 })).flat()).toHaveLength(4)
    await round(window, { rowsPerRound: 4 })
    expect(window.gap).toBeUndefined()
  })

  it('is not left when the last page is what there was just time for', async () => {
    pass = { ...pass, maxPage: 3 }
    const window = windowAt(1_000)
    expect(await round(window, { rowsPerRound: 4 })).toEqual([[1_004, 1_003, 1_002], [1_001]])
    expect(window).toEqual(windowAt(1_004, { seenUntil: 1_004 * SECOND + 1 }))
  })

  it('is gone on with while it is as old as it may be', async () => {
    const window = windowAt(1_004, {
      gap: { since: SECOND, before: { updated: 1_003 * SECOND, addedId: 4 } },
    })
    now = 1_013 * SECOND
    expect(await round(window, { maxLagMs: 10_000 })).toEqual([[1_004], [1_003]])
    expect(window.gap).toBeUndefined()
  })

  it('is left to the sweep when it is too old', async () => {
    const window = windowAt(1_000)
    await round(window, { rowsPerRound: 2 })
    now = 1_100 * SECOND
    expect(await round(window, { rowsPerRound: 9, maxLagMs: 98_500 })).toEqual([[1_002]])
    const old = windowAt(1_004, { gap: { since: SECOND, before: { updated: 1_003 * SECOND, addedId: 3 } } })
    expect(await round(old, { maxLagMs: 90_000 })).toEqual([])
    expect(old.gap).toBeUndefined()
  })
})

describe('the text of a window', () => {
  it('gives it back as it was', () => {
    const gap = { since: 1, before: { updated: 3, addedId: 2 } }
    for (const window of [
      { seenUntil: 5, lookedAt: 4, gap },
      { seenUntil: 5, lookedAt: 4, gap: undefined },
    ])
      expect(windowFromText(JSON.stringify(window))).toEqual(window)
  })

  it.each(['', '{', 'null', '[]', '7', '{"run":1}', '["x"]'])(
    'is not %s, which means to begin anew',
    (text) => {
      expect(windowFromText(text)).toBeUndefined()
    },
  )

  it.each([
    ['no gap', '{"seenUntil":5,"lookedAt":4,"gap":null}'],
    ['a gap without its beginning', '{"seenUntil":5,"lookedAt":4,"gap":{"before":{}}}'],
    ['a gap without its place', '{"seenUntil":5,"lookedAt":4,"gap":{"since":1}}'],
    ['a gap that is none', '{"seenUntil":5,"lookedAt":4,"gap":7}'],
  ])('that has %s gives one without', (_, text) => {
    expect(windowFromText(text)).toEqual({ seenUntil: 5, lookedAt: 4, gap: undefined })
  })
})
