import { badOption, counted, grouped } from '@looseleaf/core/internal'
import type { MoveReport } from '@looseleaf/store'
import { endedText, MOVE_JSON, moveJson } from '../../moves/move-view.ts'
import { shardText } from '../../moves/shard-names.ts'
import { exitCodeOfMoves, workOnMoves, type WorkOptions } from '../../moves/work-on-moves.ts'
import { addRateOption } from '../../running/rate-option.ts'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { exitCodes } from '../../running/exit-codes.ts'

const DETAILS = `The source keeps its buckets, and the copies are deleted. Refused once the first
group of buckets was handed over: go on with the move then, and move the buckets
back. While another process works on the move, the command waits: stop that
process first.

Ctrl-C is safe: the same command or \`shard repair\` goes on with the undo.
The exit code is 1 if the move cannot be undone any more. It is 1 as well if the
target takes no writes, because it is full or read-only: the source keeps its
buckets then, and \`shard repair\` deletes the copies later.

JSON, also with --dry-run and if it cannot be undone:
${MOVE_JSON}`

export const addUndo: AddCommand = (group) => {
  const command = defineCommand(group, {
    usage: 'undo <move>',
    summary: 'Undo a move of which no bucket was handed over',
    details: DETAILS,
    examples: [['shard undo 1', 'the number of a move in `shard status`']],
  }).option('--dry-run', 'tell whether the move can be undone, and change nothing')
  addRateOption(command).does(async (invocation, text: string, options: WorkOptions) => {
    const { output, signal } = invocation
    const store = await invocation.openStore()
    const shards = await store.shards.list({ signal })
    const move = findMove(await store.shards.moves({ signal }), text)
    if (move.handedOver > 0) {
      output.result(moveJson(move), () => tooLateText(move))
      return exitCodes.found
    }
    if (options.dryRun === true) {
      output.result(
        moveJson(move),
        () =>
          `Move ${move.id} can be undone: shard ${shardText(shards, move.from)} would keep ${counted(move.bucketCount, 'bucket')}. Nothing was changed.`,
      )
      return exitCodes.ok
    }
    const report = await workOnMoves(invocation, options, (moving) => store.shards.undo(move.id, moving))
    output.result(moveJson(report), () => endedText(shards, report))
    return exitCodeOfMoves([report])
  })
}

/** Finds a move that is not over by its number. Throws `BAD_OPTION` for any other text. */
function findMove(moves: readonly MoveReport[], text: string): MoveReport {
  const open = moves.filter((move) => move.endedAt === undefined)
  const found = open.find(({ id }) => text === String(id))
  if (found !== undefined) return found
  const known =
    open.length === 0
      ? 'No move is under way.'
      : `Moves under way: ${open.map(({ id }) => id).join(', ')}. See: looseleaf shard status`
  throw badOption(`Move ${JSON.stringify(text)} is over, or was never announced. ${known}`)
}

function tooLateText(move: MoveReport): string {
  const { forward, back } = move.commands
  return `Move ${move.id} cannot be undone: ${grouped(move.handedOver)} of its ${counted(move.bucketCount, 'bucket')} ${move.handedOver === 1 ? 'was' : 'were'} handed over. Nothing was changed. Go on with: ${forward}. When it is over, go back with: ${back}`
}
