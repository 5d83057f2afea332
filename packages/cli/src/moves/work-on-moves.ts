import { isLooseleafError } from '@looseleaf/core'
import { durationText, platformTime } from '@looseleaf/core/internal'
import type { MoveOptions, MoveReport } from '@looseleaf/store'
import type { Invocation } from '../running/invocation.ts'
import { exitCodes, type ExitCode } from '../running/exit-codes.ts'
import { inCommandWords } from '../output/command-words.ts'
import { printable, timeText } from '../output/text.ts'
import { progressText } from './move-view.ts'

/** Options of each command that works on moves. */
export interface WorkOptions {
  readonly rowsPerSecond?: number
  readonly dryRun?: boolean
}

/** Time for the look at the moves after Ctrl-C, in milliseconds. The shards may be silent. */
const LAST_LOOK_MS = 2_000

/**
 * Runs `work`, which walks moves, and shows its progress to people. Names the process that works on a move already, and a shard
 * for which the work waits. After Ctrl-C or an error it names, for each move that is not over, the command to go on and the command to go back.
 */
export async function workOnMoves<Result>(
  invocation: Invocation,
  { rowsPerSecond }: WorkOptions,
  work: (options: MoveOptions) => Promise<Result>,
): Promise<Result> {
  const { output, signal } = invocation
  const progress = output.progress({ label: 'moving', unit: 'rows' })
  try {
    return await work({
      signal,
      rowsPerSecond,
      onProgress: (at) =>
        progress.update(at.counts.read, at.counts.read / Math.max(1, at.total), progressText(at)),
      onWait: (move) => progress.aside(() => output.note(waitText(move))),
      onRetry: ({ message }, pauseMs) =>
        progress.aside(() =>
          output.note(`Trying again in ${durationText(pauseMs)}: ${printable(inCommandWords(message))}`),
        ),
    })
  } catch (error) {
    progress.stop()
    if (isLooseleafError(error)) for (const line of await openMoveLines(invocation)) output.note(line)
    throw error
  } finally {
    progress.stop()
  }
}

/** Returns the exit code of a command whose moves have these reports: 1 if the source of one is still to be emptied. */
export function exitCodeOfMoves(reports: readonly MoveReport[]): ExitCode {
  return reports.every(({ endedAt }) => endedAt !== undefined) ? exitCodes.ok : exitCodes.found
}

function waitText({ id, holder }: MoveReport): string {
  const worker =
    holder === undefined
      ? 'another process has worked on it'
      : `${holder.worker} has worked on it since ${timeText(holder.since)}`
  return `Move ${id}: ${worker}. This command waits until it ends, and takes over if that process dies.`
}

async function openMoveLines({ openStore, output }: Invocation): Promise<readonly string[]> {
  // Programs get the error alone.
  if (output.json) return []
  try {
    const moves = await (await openStore()).shards.moves({ signal: platformTime.abortAfter(LAST_LOOK_MS) })
    return moves.filter((move) => move.endedAt === undefined).map(openMoveLine)
  } catch {
    // The first error is the one to be reported.
    return [
      'Moves stay announced, and their progress is saved. When all shards answer, repeat the command, or go on with: looseleaf shard repair',
    ]
  }
}

function openMoveLine(move: MoveReport): string {
  const { forward, back, isBackLater } = move.commands
  const ways = [
    `Go on: ${forward}.`,
    ...(back === undefined ? [] : [`Go back${isBackLater ? ' when it is over' : ''}: ${back}.`]),
  ]
  return `Move ${move.id} is ${move.state}, and its progress is saved. ${ways.join(' ')}`
}
