import { LooseleafError } from '@looseleaf/core'
import type { MoveReport } from '@looseleaf/store'

/** Finds a move that is not over by its number. Throws `BAD_OPTION` for any other text. */
export function findMove(moves: readonly MoveReport[], text: string): MoveReport {
  const open = moves.filter((move) => move.endedAt === undefined)
  const found = open.find(({ id }) => text === String(id))
  if (found !== undefined) return found
  const known =
    open.length === 0
      ? 'No move is under way.'
      : `Moves under way: ${open.map(({ id }) => id).join(', ')}. See: looseleaf shard status`
  throw new LooseleafError(
    'BAD_OPTION',
    `Move ${JSON.stringify(text)} is over, or was never announced. ${known}`,
  )
}
