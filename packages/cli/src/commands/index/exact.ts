import { Argument } from 'commander'
import { counted } from '@looseleaf/core/internal'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'

const DETAILS = `A row of an exact index is deleted in the write that loses it, if the rows of its
entity are on the entity's shard. Other lost rows stay for some seconds. A new
store has exact indexes.

\`on\` makes the indexes exact that are sharded on 'id' or have \`near\`, and in a
store of one shard all of them; also those that are added later. Programs of
versions before 0.2 are refused from then on, so update them before. It takes
about eleven seconds. Run it again if it was interrupted, and after a shard was
added to a store of one shard. \`off\` takes all of that back.

JSON: { "exact": [name] }`

export const addExactIndexes: AddCommand = (group) => {
  defineCommand(group, {
    usage: 'exact',
    summary: 'Delete lost index rows at once, or some seconds later as before',
    details: DETAILS,
    examples: [
      ['index exact on', 'once every program of a store has version 0.2'],
      ['index exact off', 'before programs of an earlier version are used again'],
    ],
  })
    .addArgument(new Argument('<state>').choices(['on', 'off']))
    .does(async ({ output, signal, openStore }, state: 'on' | 'off') => {
      const store = await openStore()
      await store.setExactIndexes(state === 'on', { signal })
      const all = await store.indexes({ signal })
      const exact = [...new Set(all.flatMap((index) => (index.exact === 'on' ? [index.name] : [])))]
      output.result({ exact }, () =>
        exact.length === 0
          ? 'No index is exact.'
          : `${counted(exact.length, 'index is', 'indexes are')} exact: ${exact.join(', ')}.`,
      )
    })
}
