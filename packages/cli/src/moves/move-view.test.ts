import type { MoveReport } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { endedText } from './move-view.ts'

test('a command whose move waits for consumers names them, and the command to go on', () => {
  const move = { id: 3, from: 0, to: 1, state: 'emptying', bucketCount: 20 } as MoveReport
  const heldUpBy = 'consumers that have changes to handle on shard 0: search. Start their processes'
  expect(endedText([], { ...move, heldUpBy })).toBe(
    `Move 3 is emptying. Held up by ${heldUpBy}. Go on with: looseleaf shard repair`,
  )
  expect(endedText([], move)).toBe('Move 3 is emptying. Go on with: looseleaf shard repair')
})
