import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../test/stores.ts'
import { createPass, type Pass } from '../pass/pass.ts'
import { updatedPages, windowFromText, type TailWindow, type WindowOptions } from './tail-window.ts'

const SECOND = 1_000_000

let driver: ReferenceDriver
/** Time of the shard in microseconds. */
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

/** Runs a round of at most this many pages. Returns the times in seconds of the updates that it reads, by page. */
async function round(
  window: TailWindow,
  options: Partial<WindowOptions> = {},
  pages = Infinity,
): Promise<number[][]> {
  const settings = { rowsPerRound: 1_000, maxLagMs: 3_600_000, ...options }
  const read: number[][] = []
  if (pages === 0) return read
  for await (const page of updatedPages(pass, 0, window, settings)) {
    read.push(page.map(({ updated }) => updated / SECOND))
    if (read.length === pages) break
  }
  return read
}

describe('a round', () => {
  it('a round reads the updates since the last one, newest first, and advances to the floor that it raised', async () => {
    await commit(1_001, 1_002, 1_003)
    const window = windowAt(1_002)
    expect(await round(window)).toEqual([[1_003, 1_002]])
    expect(window).toEqual(windowAt(1_003, { seenUntil: 1_003 * SECOND + 1 }))
    await commit(1_004)
    expect(await round(window)).toEqual([[1_004]])
  })

  it('a round raises the floor only if a row is above it, and otherwise only records its time', async () => {
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

  it('after a failover that lost the floor, a round reads updates with earlier times', async () => {
    const window = windowAt(1_000)
    await commit(990, 995)
    expect(await round(window)).toEqual([])
    expect(window.seenUntil).toBe(995 * SECOND + 1)
    await commit(996)
    expect(await round(window)).toEqual([[996]])
  })

  it('a round does not look back further than `maxLagMs`', async () => {
    await commit(995, 1_001, 1_030)
    const window = windowAt(1_000)
    expect(await round(window, { maxLagMs: 20_000 })).toEqual([[1_030]])
    expect(window.gap).toBeUndefined()
  })

  it('an interrupted round does not advance the window', async () => {
    pass = { ...pass, entityRows: () => 1 }
    await commit(1_001, 1_002)
    const window = windowAt(1_000)
    expect(await round(window, {}, 1)).toEqual([[1_002]])
    expect(window).toEqual(windowAt(1_000))
  })

  it('a signal ends a round', async () => {
    pass = { ...pass, signal: AbortSignal.abort() }
    await commit(1_001)
    const window = windowAt(1_000)
    await expect(round(window)).rejects.toMatchObject({ code: 'ABORTED' })
    expect(window).toEqual(windowAt(1_000))
  })
})

describe('the gap', () => {
  beforeEach(async () => {
    pass = { ...pass, entityRows: () => 1 }
    await commit(1_001, 1_002, 1_003, 1_004)
  })

  it('unread updates become the gap, which the next round reads after new updates', async () => {
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

  it('a second gap is merged with the first', async () => {
    const window = windowAt(1_000)
    await round(window, { rowsPerRound: 1 })
    await commit(1_005, 1_006)
    expect(await round(window, { rowsPerRound: 1 })).toEqual([[1_006]])
    expect(window.gap).toEqual({ since: 1_000 * SECOND, before: { updated: 1_006 * SECOND, addedId: 6 } })
    expect(await round(window)).toEqual([[1_005], [1_004], [1_003], [1_002], [1_001]])
  })

  it('there is no gap if a round has time for all updates', async () => {
    const window = windowAt(1_000)
    expect((await round(window, { rowsPerRound: 4 })).flat()).toHaveLength(4)
    await round(window, { rowsPerRound: 4 })
    expect(window.gap).toBeUndefined()
  })

  it('there is no gap if the last page just fits', async () => {
    pass = { ...pass, entityRows: () => 3 }
    const window = windowAt(1_000)
    expect(await round(window, { rowsPerRound: 4 })).toEqual([[1_004, 1_003, 1_002], [1_001]])
    expect(window).toEqual(windowAt(1_004, { seenUntil: 1_004 * SECOND + 1 }))
  })

  it('a gap is read while it is not older than `maxLagMs`', async () => {
    const window = windowAt(1_004, {
      gap: { since: SECOND, before: { updated: 1_003 * SECOND, addedId: 4 } },
    })
    now = 1_013 * SECOND
    expect(await round(window, { maxLagMs: 10_000 })).toEqual([[1_004], [1_003]])
    expect(window.gap).toBeUndefined()
  })

  it('a gap older than `maxLagMs` is left to the sweep', async () => {
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
  it('a window survives being stored as text', () => {
    const gap = { since: 1, before: { updated: 3, addedId: 2 } }
    for (const window of [
      { seenUntil: 5, lookedAt: 4, gap },
      { seenUntil: 5, lookedAt: 4, gap: undefined },
    ])
      expect(windowFromText(JSON.stringify(window))).toEqual(window)
  })

  it.each(['', '{', 'null', '[]', '7', '{"run":1}', '["x"]'])('%s is the text of no window', (text) => {
    expect(windowFromText(text)).toBeUndefined()
  })

  it.each([
    ['no gap', '{"seenUntil":5,"lookedAt":4,"gap":null}'],
    ['a gap without its beginning', '{"seenUntil":5,"lookedAt":4,"gap":{"before":{}}}'],
    ['a gap without its place', '{"seenUntil":5,"lookedAt":4,"gap":{"since":1}}'],
    ['a gap whose place is null', '{"seenUntil":5,"lookedAt":4,"gap":{"since":1,"before":null}}'],
    ['a gap that is a number', '{"seenUntil":5,"lookedAt":4,"gap":7}'],
  ])('a text with %s is a window without a gap', (_, text) => {
    expect(windowFromText(text)).toEqual({ seenUntil: 5, lookedAt: 4, gap: undefined })
  })
})
