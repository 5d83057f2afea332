import { counted } from '@looseleaf/core/internal'
import { endedTexts, moveJson } from '../../moves/move-view.ts'
import { PLAN_EXIT, PLAN_JSON, printPlan } from '../../moves/plan-view.ts'
import { findShard, shardText } from '../../moves/shard-names.ts'
import { exitCodeOfMoves, workOnMoves, type WorkOptions } from '../../moves/work-on-moves.ts'
import { addRateOption } from '../../running/rate-option.ts'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { exitCodes } from '../../running/exit-codes.ts'

const DETAILS = `Moves all buckets of a shard to the others, one move after the other, while the
store is in use. The shard takes no buckets from then on. Afterwards
\`shard remove\` takes it out of the store, and \`shard stop-draining\` lets it take
buckets again.

Ctrl-C is safe at any time: the same command goes on. The exit code is 1 if
another process has stopped the draining, or if a source still has its copy in
the end, because consumers have changes to handle there. A cleaner deletes it by
itself once they have, and the shard can be removed then.
${PLAN_EXIT}

JSON: { "moves": [move, as \`shard move\` prints it],
  "buckets": number of buckets that the shard still has }
With --dry-run:
${PLAN_JSON}`

const STOP_DETAILS = `The shard keeps the buckets that it still has, and may take others again. A move
that has begun goes on: see \`shard status\`. \`shard rebalance\` gives the shard its
share again.

JSON: { "number", "address", "buckets" }`

export const addDrain: AddCommand = (group) => {
  const command = defineCommand(group, {
    usage: 'drain <shard>',
    summary: 'Move all buckets of a shard to the other shards',
    details: DETAILS,
    examples: [
      ['shard drain 1 --dry-run', 'print the moves'],
      ['shard drain 1', 'before a machine is switched off'],
    ],
  }).option('--dry-run', 'print the moves, and change nothing')
  addRateOption(command).does(async (invocation, text: string, options: WorkOptions) => {
    const { output, signal } = invocation
    const store = await invocation.openStore()
    const shards = await store.shards.list({ signal })
    const { number } = findShard(shards, text)
    if (options.dryRun === true) return printPlan(invocation, shards, { drain: number })
    const reports = await workOnMoves(invocation, options, (moving) => store.shards.drain(number, moving))
    const { buckets = 0 } = findShard(await store.shards.list({ signal }), text)
    output.result({ moves: reports.map(moveJson), buckets }, () =>
      [
        ...endedTexts(shards, reports),
        buckets === 0
          ? `Shard ${shardText(shards, number)} has no buckets. Take it out of the store with: looseleaf shard remove ${number}`
          : `Shard ${shardText(shards, number)} keeps ${counted(buckets, 'bucket')}: another process has stopped its draining.`,
      ].join('\n'),
    )
    return buckets === 0 ? exitCodeOfMoves(reports) : exitCodes.found
  })
}

export const addStopDraining: AddCommand = (group) => {
  defineCommand(group, {
    usage: 'stop-draining <shard>',
    summary: 'Let a shard that was drained take buckets again',
    details: STOP_DETAILS,
    examples: [['shard stop-draining 1', 'keep the buckets that it still has']],
  }).does(async ({ output, signal, openStore }, text: string) => {
    const store = await openStore()
    const shards = await store.shards.list({ signal })
    const { number, address, buckets = 0 } = findShard(shards, text)
    await store.shards.stopDraining(number, { signal })
    output.result(
      { number, address, buckets },
      () => `Shard ${shardText(shards, number)} keeps ${counted(buckets, 'bucket')}, and takes others again.`,
    )
  })
}
