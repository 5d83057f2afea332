import { bytesText, counted, grouped } from '@looseleaf/core/internal'
import type { MovePlan, MoveRequest } from '@looseleaf/store'
import { inCommandWords } from '../output/command-words.ts'
import { clip } from '../output/text.ts'
import { exitCodes, type ExitCode } from '../running/exit-codes.ts'
import type { Output } from '../output/output.ts'
import type { Invocation } from '../running/invocation.ts'
import { shardText, type NamedShard } from './shard-names.ts'

/** Shape of a plan in the JSON of commands. */
export const PLAN_JSON = `  { "moves": [{ "from", "to", "buckets": ranges, "bucketCount", "entities",
      "tombstones", "bytes", "rows": index rows and claims }],
    "problems": [text], "warnings": [text] }`

/** Sentences for the help of commands with a dry run. */
export const PLAN_EXIT = `With --dry-run the exit code is 1 if the plan has problems: the command itself
would be refused.`

const BUCKETS_WIDTH = 40

/** Prints the moves that a request would make, with exact counts. Changes nothing. */
export async function printPlan(
  { output, signal, openStore }: Invocation,
  shards: readonly NamedShard[],
  request: MoveRequest,
): Promise<ExitCode> {
  output.note('Counting entities and index rows …')
  const { problems: found, warnings, ...rest } = await (await openStore()).shards.plan(request, { signal })
  const plan = {
    ...rest,
    problems: found.map(inCommandWords),
    warnings: warnings.map(inCommandWords),
  }
  output.result(plan, () => planText(output, shards, plan))
  return plan.problems.length === 0 ? exitCodes.ok : exitCodes.found
}

function planText(
  output: Output,
  shards: readonly NamedShard[],
  { moves, problems, warnings }: MovePlan,
): string {
  const { colors } = output
  const bytes = moves.reduce((sum, move) => sum + move.bytes, 0)
  return [
    ...(moves.length === 0
      ? ['No bucket would move.']
      : [
          output.table(
            ['FROM', 'TO', 'BUCKETS', 'COUNT', 'ENTITIES', 'TOMBSTONES', 'INDEX ROWS', 'BODIES'],
            moves.map(({ from, to, buckets, bucketCount, entities, tombstones, rows, bytes: size }) => [
              shardText(shards, from),
              shardText(shards, to),
              clip(buckets, BUCKETS_WIDTH),
              ...[bucketCount, entities, tombstones, rows].map(grouped),
              bytesText(size),
            ]),
          ),
          '',
          `${counted(moves.length, 'move')} would copy ${bytesText(bytes)} of bodies, and the index rows. A database does not tell how much room its disk has.`,
        ]),
    ...problems.map((problem) => `${colors.red('Problem:')} ${problem}`),
    ...warnings.map((warning) => `${colors.yellow('Warning:')} ${warning}`),
    'Nothing was changed.',
  ].join('\n')
}
