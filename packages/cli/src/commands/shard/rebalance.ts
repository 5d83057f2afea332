import { endedTexts, moveJson } from '../../moves/move-view.ts'
import { PLAN_EXIT, PLAN_JSON, printPlan } from '../../moves/plan-view.ts'
import { exitCodeOfMoves, workOnMoves, type WorkOptions } from '../../moves/work-on-moves.ts'
import { addRateOption } from '../../running/rate-option.ts'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'

const DETAILS = `Moves buckets until all shards have about the same bytes, one move after the
other, while the store is in use: after \`shard add\`, for example. Goes on with
moves that are not over first. Shards within five percent of the mean stay as
they are. A shard that is being drained takes no buckets.

Ctrl-C is safe at any time: the same command goes on.
The exit code is 1 if a source still has its copy in the end, because consumers
have changes to handle there. A cleaner deletes it by itself once they have.
${PLAN_EXIT}

JSON: { "moves": [move, as \`shard move\` prints it] }
With --dry-run:
${PLAN_JSON}`

export const addRebalance: AddCommand = (group) => {
  const command = defineCommand(group, {
    usage: 'rebalance',
    summary: 'Move buckets until all shards have about the same bytes',
    details: DETAILS,
    examples: [
      ['shard rebalance --dry-run', 'print the moves'],
      ['shard rebalance --rows-per-second 5000', 'slowly'],
    ],
  }).option('--dry-run', 'print the moves, and change nothing')
  addRateOption(command).does(async (invocation, options: WorkOptions) => {
    const { output, signal } = invocation
    const store = await invocation.openStore()
    const shards = await store.shards.list({ signal })
    if (options.dryRun === true) return printPlan(invocation, shards, 'rebalance')
    const reports = await workOnMoves(invocation, options, (moving) => store.shards.rebalance(moving))
    output.result({ moves: reports.map(moveJson) }, () =>
      reports.length === 0
        ? 'The shards have about the same bytes already. Nothing was moved.'
        : endedTexts(shards, reports).join('\n'),
    )
    return exitCodeOfMoves(reports)
  })
}
