import type { DataStore, ListedShard, MoveReport, RepairReport } from '@looseleaf/store'
import { stalledDrains } from '../../health/move-rules.ts'
import { endedTexts, MOVE_JSON, moveJson, moveText } from '../../moves/move-view.ts'
import { shardText, type NamedShard } from '../../moves/shard-names.ts'
import { exitCodeOfMoves, workOnMoves, type WorkOptions } from '../../moves/work-on-moves.ts'
import { addRateOption } from '../../running/rate-option.ts'
import { inCommandWords } from '../../output/command-words.ts'
import type { Output } from '../../output/output.ts'
import { printable } from '../../output/text.ts'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { exitCodes } from '../../running/exit-codes.ts'

const DETAILS = `Ends everything that is half done: goes on with each move that is not over, one
after the other, also with an undo; completes the catalogs of shards and
interrupted joins; lets a shard begin to serve buckets that were handed over to
it. While another process works on a move, the command waits, and takes over if
that process dies. An interrupted drain or rebalance may have more moves to
make: give the same command again. A shard that is draining is named.

Ctrl-C is safe at any time: the same command goes on. The exit code is 1 if a
problem remains, such as a bucket with two owners, and if a source still has its
copy in the end, because consumers have changes to handle there.

JSON:
  { "moves": [M], "joined": [shard number], "catalogs": [shard number],
    "begun": [shard number], "problems": [text] }, with M:
${MOVE_JSON}
With --dry-run: { "moves": [M], "problems": [text] }, the moves that are not over, and
  drains without a move.`

export const addRepair: AddCommand = (group) => {
  const command = defineCommand(group, {
    usage: 'repair',
    summary: 'Go on with all moves, and end everything that is half done',
    details: DETAILS,
    examples: [
      ['shard repair --dry-run', 'list the moves that are not over'],
      ['shard repair', 'after a crash, or after Ctrl-C'],
    ],
  }).option('--dry-run', 'list the moves that are not over, and change nothing')
  addRateOption(command).does(async (invocation, options: WorkOptions) => {
    const { output, signal } = invocation
    const store = await invocation.openStore()
    const shards = await store.shards.list({ signal })
    if (options.dryRun === true) {
      const moves = (await store.shards.moves({ signal })).filter((move) => move.endedAt === undefined)
      const problems = drainTexts(shards, moves)
      output.result({ moves: moves.map(moveJson), problems }, () =>
        [
          ...(moves.length === 0
            ? ['No move is under way.']
            : [...moves.map((move) => moveText(output, shards, move)), 'Nothing was changed.']),
          ...problems,
        ].join('\n'),
      )
      return exitCodes.ok
    }
    const {
      moves,
      problems: found,
      ...rest
    } = await workOnMoves(invocation, options, (moving) => store.shards.repair(moving))
    // Another problem may be a shard that does not answer.
    const problems = found.length > 0 ? found.map(inCommandWords) : await drainProblems(store, signal)
    output.result({ moves: moves.map(moveJson), ...rest, problems }, () =>
      repairText(output, shards, { moves, ...rest, problems }),
    )
    return problems.length === 0 ? exitCodeOfMoves(moves) : exitCodes.found
  })
}

/** Returns a sentence for each drain that needs its own command to go on: `repair` makes no new moves. */
async function drainProblems({ shards }: DataStore, signal: AbortSignal): Promise<readonly string[]> {
  return drainTexts(await shards.list({ signal }), await shards.moves({ signal }))
}

function drainTexts(shards: readonly ListedShard[], moves: readonly MoveReport[]): readonly string[] {
  return stalledDrains({ shards, moves }).map(
    ({ about = '', problem, instruction }) =>
      `${about.replace(/^s/, 'S')} ${problem}. Unless a process drains it now, ${instruction}`,
  )
}

function repairText(
  { colors }: Output,
  shards: readonly NamedShard[],
  { moves, joined, catalogs, begun, problems }: RepairReport,
): string {
  const each = (numbers: readonly number[], text: string): readonly string[] =>
    numbers.map((number) => `Shard ${shardText(shards, number)} ${text}.`)
  const lines = [
    ...each(catalogs, 'has the last catalog'),
    ...each(joined, 'has joined'),
    ...each(begun, 'serves the buckets that were handed over to it'),
    ...endedTexts(shards, moves),
    ...problems.map((problem) => `${colors.red('Problem:')} ${printable(problem)}`),
  ]
  return lines.length === 0 ? 'Nothing was half done.' : lines.join('\n')
}
