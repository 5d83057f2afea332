import { expect, test } from 'vitest'
import { commandsOf } from './move-commands.ts'

const MOVE = { id: 4, from: 0, to: 1, buckets: '3-9', phase: 'both' } as const
const REPAIR = 'looseleaf shard repair'

test('a move goes forward by repair, and back by an undo of its number or a move of its buckets', () => {
  expect(commandsOf(MOVE, 'repair', 'undo')).toEqual({
    forward: REPAIR,
    back: 'looseleaf shard undo 4',
    isBackLater: false,
  })
  const back = 'looseleaf shard move --from 1 --to 0 --buckets 3-9'
  expect(commandsOf(MOVE, 'repair', 'move')).toEqual({ forward: REPAIR, back, isBackLater: true })
  expect(commandsOf(MOVE, undefined, 'move')).toEqual({ forward: undefined, back, isBackLater: false })
  expect(commandsOf(MOVE, 'repair', undefined)).toEqual({
    forward: REPAIR,
    back: undefined,
    isBackLater: false,
  })
})
