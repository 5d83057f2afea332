import { findShard, shardText } from '../../moves/shard-names.ts'
import { confirm } from '../../running/confirm.ts'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { exitCodes } from '../../running/exit-codes.ts'

interface RemoveOptions {
  readonly dryRun?: boolean
  readonly yes?: boolean
}

const DETAILS = `Takes a shard without buckets out of the store, and waits until no process sends
it statements any more, about twenty seconds. Its database may be switched off
then. Its number is never given to another shard.

Refused while the shard is needed, for buckets, moves, consumers that have not
read all of it, or other reasons: the message names all of them. Ctrl-C is safe:
the same command goes on.

JSON: { "number", "address", "removed": false after a no, and with --dry-run }`

export const addRemoveShard: AddCommand = (group) => {
  defineCommand(group, {
    usage: 'remove <shard>',
    summary: 'Take a drained shard out of the store',
    details: DETAILS,
    examples: [
      ['shard remove 1 --dry-run', 'check whether it can be removed'],
      ['shard remove 1', 'after `shard drain 1`'],
    ],
  })
    .option('--dry-run', 'check whether the shard can be removed, and change nothing')
    .option('--yes', 'do not ask')
    .does(async (invocation, text: string, { dryRun = false, yes }: RemoveOptions) => {
      const { output, signal } = invocation
      const store = await invocation.openStore()
      const shards = await store.shards.list({ signal })
      const { number, address } = findShard(shards, text)
      const shard = shardText(shards, number)
      await store.shards.remove(number, { signal, dryRun: true })
      if (dryRun) {
        output.result(
          { number, address, removed: false },
          () => `Shard ${shard} can be removed. Nothing was changed.`,
        )
        return exitCodes.ok
      }
      const question = `Take shard ${shard} out of the store? Its number stays taken, and its database cannot come back with its rows.`
      if (!(await confirm(invocation, question, yes))) {
        output.result({ number, address, removed: false }, () => 'Nothing was changed.')
        return exitCodes.found
      }
      output.note('Waiting until every process of the store knows it, about twenty seconds …')
      await store.shards.remove(number, { signal })
      output.result(
        { number, address, removed: true },
        () => `Shard ${shard} is no shard of the store any more. Its database may be switched off.`,
      )
      return exitCodes.ok
    })
}
