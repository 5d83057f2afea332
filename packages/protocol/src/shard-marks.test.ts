import { LooseleafError, type Shard } from '@looseleaf/core'
import { expect, test } from 'vitest'
import {
  lookAtMarks,
  MARK_TASK,
  markFromText,
  markToText,
  noteTask,
  rewindOf,
  rewindText,
  type Rewind,
  type ShardMark,
} from './shard-marks.ts'

/** Marks of a shard, one for each reading; the last one stays. And its notes by shard number. */
interface Stored {
  readonly own: readonly (number | Error)[]
  readonly notes?: Readonly<Record<number, number>>
}

const markOf = (mark: number): ShardMark => ({ mark, at: mark * 100 })
const options = { signal: new AbortController().signal }

/** Looks at the marks of these shards, and returns the looks and the tasks that were read of each. */
async function look(stored: readonly (readonly [number, Stored | undefined])[]) {
  const read: string[] = []
  const shards = stored.map(([number, record]): readonly [number, Shard | undefined] => {
    if (record === undefined) return [number, undefined]
    const own = [...record.own]
    const loadAll = async (tasks: readonly string[], given: unknown): Promise<Map<string, object>> => {
      expect(given).toBe(options)
      read.push(`${number}: ${tasks.join()}`)
      const mark = own.length > 1 ? own.shift()! : own[0]!
      if (mark instanceof Error) throw mark
      const states = new Map([[MARK_TASK, { progress: markToText(markOf(mark)) }]])
      for (const [shard, note] of Object.entries(record.notes ?? {}))
        states.set(noteTask(Number(shard)), { progress: markToText(markOf(note)) })
      return new Map([...states].filter(([task]) => tasks.includes(task)))
    }
    return [number, { tasks: { loadAll } } as unknown as Shard]
  })
  const looks = await lookAtMarks(shards, options)
  return { looks: looks.map(({ shard, own, noted }) => [shard, own.mark, noted.mark]), read }
}

const down = new LooseleafError('SHARD_UNAVAILABLE', 'Away.', { shard: 'one' })

test('the mark of a shard is compared with its note on the next shard', async () => {
  const { looks, read } = await look([
    [0, { own: [3], notes: { 4: 5 } }],
    [2, { own: [4], notes: { 0: 3 } }],
    [4, { own: [6], notes: { 2: 1 } }],
  ])
  expect(looks).toEqual([
    [0, 3, 3],
    [2, 4, 1],
    [4, 6, 5],
  ])
  const [mark, ...notes] = ['shard-mark', 'shard-mark-note-0', 'shard-mark-note-2', 'shard-mark-note-4']
  expect(read).toEqual([`0: ${[mark, ...notes].join()}`, `2: ${mark},${notes[0]}`, `4: ${mark},${notes[1]}`])
})

test('the note of a shard that was the last one is on the first one until its next mark', async () => {
  const { looks } = await look([
    [0, { own: [3], notes: { 1: 2, 2: 1 } }],
    [1, { own: [4], notes: { 0: 3 } }],
    [2, { own: [5] }],
  ])
  expect(looks).toEqual([
    [0, 3, 3],
    [1, 4, 2],
    [2, 5, 1],
  ])
})

test('a store of one shard has no notes', async () => {
  expect((await look([[3, { own: [3], notes: { 3: 9 } }]])).looks).toEqual([[3, 3, 3]])
})

test('a mark below its note is read again, because it may have been raised in between', async () => {
  const raised = await look([
    [0, { own: [3, 5], notes: { 1: 4 } }],
    [1, { own: [4, 2], notes: { 0: 4 } }],
  ])
  expect(raised.looks).toEqual([
    [0, 5, 4],
    [1, 4, 4],
  ])
  expect(raised.read.slice(2)).toEqual([`0: ${MARK_TASK}`])
  const lost = await look([
    [0, { own: [3, down], notes: { 1: 4 } }],
    [1, { own: [4], notes: { 0: 4 } }],
  ])
  expect(lost.looks).toEqual([[1, 4, 4]])
})

test.each([
  ['is unreachable', { own: [down] }],
  ['is unknown', undefined],
])('a shard that %s is left out, and so is the one whose note it has', async (_, stored) => {
  const { looks } = await look([
    [0, { own: [3], notes: { 2: 1 } }],
    [1, stored],
    [2, { own: [5], notes: { 1: 4 } }],
  ])
  expect(looks).toEqual([[2, 5, 1]])
})

test('a look without the first shard has the notes of the others', async () => {
  const { looks } = await look([
    [0, { own: [down] }],
    [1, { own: [4] }],
    [2, { own: [5], notes: { 1: 3 } }],
    [3, { own: [6] }],
  ])
  expect(looks).toEqual([[1, 4, 3]])
})

test.each([new LooseleafError('ABORTED', 'The signal has fired.'), new TypeError('a mistake')])(
  'an error that is not of a shard ends the look (%s)',
  async (error) => {
    await expect(look([[0, { own: [error] }]])).rejects.toBe(error)
  },
)

const BACK: Rewind = { to: 7, from: 9, foundAt: 11, isSwept: false }

test('a shard has gone back if its mark is below its note', () => {
  const lookOf = (own: ShardMark, noted: ShardMark) => ({ shard: 0, own, noted })
  const found = { from: 400, foundAt: 999, isSwept: false }
  expect(rewindOf(lookOf(markOf(3), markOf(4)), 999)).toEqual({ ...found, to: 300 })
  expect(rewindOf(lookOf(markOf(4), markOf(4)), 999)).toBeUndefined()
  expect(rewindOf(lookOf({ ...markOf(4), wentBack: BACK }, markOf(4)), 999)).toBe(BACK)
  // Until a sweep, the earliest time counts.
  const backTo = (to: number, isSwept: boolean): number | undefined =>
    rewindOf(lookOf({ ...markOf(3), wentBack: { ...BACK, to, isSwept } }, markOf(4)), 999)?.to
  expect([backTo(200, false), backTo(301, false), backTo(200, true)]).toEqual([200, 300, 300])
})

test('a mark is stored as text', () => {
  for (const mark of [
    markOf(3),
    { ...markOf(3), wentBack: BACK },
    { ...markOf(3), wentBack: { ...BACK, isSwept: true } },
  ])
    expect(markFromText(markToText(mark))).toEqual(mark)
  expect(markFromText(markToText(markOf(3)))).not.toHaveProperty('wentBack')
  for (const text of ['', 'no record', '7']) expect(markFromText(text)).toEqual(markOf(0))
  expect(markFromText('{"mark": 1, "wentBack": {"isSwept": 1}}')).toEqual({
    mark: 1,
    at: 0,
    wentBack: { to: 0, from: 0, foundAt: 0, isSwept: false },
  })
})

test('lost commits are described by the times between which they were made', () => {
  const to = Date.UTC(2024, 1, 3, 4, 5, 6, 789)
  expect(rewindText({ to, from: to + 60_000 })).toBe(
    'has gone back in time, as after a restore or a failover: its commits between 2024-02-03T04:05:06Z and 2024-02-03T04:06:06Z are lost, to about a minute',
  )
  expect(rewindText({ to: 0, from: 0 })).toContain('between an unknown time and an unknown time are lost')
})
