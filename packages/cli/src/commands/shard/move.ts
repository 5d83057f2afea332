import { Option } from 'commander'
import { chooseBuckets } from '../../moves/choose-buckets.ts'
import { endedText, MOVE_JSON, moveJson } from '../../moves/move-view.ts'
import { PLAN_EXIT, PLAN_JSON, printPlan } from '../../moves/plan-view.ts'
import { findShard } from '../../moves/shard-names.ts'
import { exitCodeOfMoves, workOnMoves, type WorkOptions } from '../../moves/work-on-moves.ts'
import { addRateOption } from '../../running/rate-option.ts'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { parseWhole } from '../../running/parse-whole.ts'

interface MoveCommandOptions extends WorkOptions {
  readonly from: string
  readonly to: string
  readonly buckets?: string
  readonly count?: number
}

const DETAILS = `Copies the entities, index rows and claims of the buckets while the store is in
use, compares every copy with its source, and hands the buckets over in groups.
Writes of a group wait for some milliseconds, and reads go on. In the end the
source deletes what it gave up. Shards are named by number or address, as
\`shard list\` prints them.

--count takes the last buckets of the source that are in no move. Buckets differ
in size: --dry-run counts what would be copied.

Ctrl-C is safe at any time: the move stays announced, and the same command with
--buckets, or \`shard repair\`, goes on with it. \`shard undo\` goes back, until
the first group is handed over. While another process works on the move, the
command waits, and takes over if that process dies.

The exit code is 1 if a source still has its copy in the end, because consumers
have changes to handle there. A cleaner deletes it by itself once they have.
${PLAN_EXIT}

JSON, of the move when it is over:
${MOVE_JSON}
With --dry-run:
${PLAN_JSON}`

export const addMove: AddCommand = (group) => {
  const command = defineCommand(group, {
    usage: 'move',
    summary: 'Move buckets from one shard to another',
    details: DETAILS,
    examples: [
      ['shard move --from 0 --to 1 --count 20 --dry-run', 'count what would be copied'],
      ['shard move --from 0 --to 1 --buckets 77-96', 'move 20 buckets'],
      ['shard move --from 0 --to 1 --count 20 --rows-per-second 5000', 'the last 20 buckets, slowly'],
    ],
  })
    .requiredOption('--from <shard>', 'the shard that gives buckets up')
    .requiredOption('--to <shard>', 'the shard that takes them')
    .option('--buckets <ranges>', 'the buckets, such as 77-96 or 0-76,97')
    .addOption(
      new Option('--count <buckets>', 'the number of buckets, instead of --buckets')
        .argParser(parseWhole)
        .conflicts('buckets'),
    )
    .option('--dry-run', 'print the plan, and change nothing')
  addRateOption(command).does(async (invocation, options: MoveCommandOptions) => {
    const { output, signal } = invocation
    const store = await invocation.openStore()
    const shards = await store.shards.list({ signal })
    const [source, target] = [findShard(shards, options.from), findShard(shards, options.to)]
    const buckets = await chooseBuckets(store, source, target, options, { signal })
    const planned = { from: source.number, to: target.number, buckets }
    if (options.dryRun === true) return printPlan(invocation, shards, planned)
    const report = await workOnMoves(invocation, options, (moving) => store.shards.move(planned, moving))
    output.result(moveJson(report), () => endedText(shards, report))
    return exitCodeOfMoves([report])
  })
}
