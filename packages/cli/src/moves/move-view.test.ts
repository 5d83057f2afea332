import type { MoveReport } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { endedText } from './move-view.ts'

const commands = { forward: 'looseleaf shard repair', back: 'looseleaf shard undo 3', isBackLater: true }
const move = { id: 3, from: 0, to: 1, state: 'emptying', bucketCount: 20, commands } as MoveReport

test('a command whose move waits for consumers names them, and says that a cleaner goes on with it', () => {
  const heldUpBy = 'consumers that have changes to handle on shard 0: search. Start their processes'
  const where = 'Move 3 is emptying: shard 1 has 20 buckets, and shard 0 still has its copy.'
  const next = 'A cleaner goes on with it by itself. To go on at once: looseleaf shard repair'
  expect(endedText([], { ...move, heldUpBy })).toBe(`${where} Held up by ${heldUpBy}. ${next}`)
  expect(endedText([], move)).toBe(`${where} ${next}`)
})

test('a command whose move has stopped names the command to go on', () => {
  expect(endedText([], { ...move, state: 'copying' })).toBe(
    'Move 3 is copying. Go on with: looseleaf shard repair',
  )
})

test('a move that is over shows how many writes waited, and the longest of their waits', () => {
  const counts = { entities: 2, rows: 3, claims: 0 }
  const seals = { groups: 1, p50: 4, p99: 5, worst: 5 }
  const waits = { calls: 12, longestMs: 46 }
  const done = { ...move, state: 'done', counts, seals, waits, endedAt: new Date() } as MoveReport
  expect(endedText([], done)).toMatch(/ Sealed: 1 group, .* Waited: 12 writes, the longest for 46 ms\.$/)
})
