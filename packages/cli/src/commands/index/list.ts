import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { indexAdvice } from '../../indexes/index-advice.ts'
import { generationsOf } from '../../indexes/index-generations.ts'
import { indexTable } from '../../indexes/index-table.ts'

const DETAILS = `Also names the generations that the config no longer needs: see
\`looseleaf index swap\`.

JSON:
  { "indexes": [{ "name", "generation", "table", "state", "columns", "shardOn",
      "include": [text], "on": { property: value }, "unique": true for claims,
      "hidden": true, "paused": true,
      "expires": path of the time from which entities are deleted }],
    "advice": [text] }`

export const addListIndexes: AddCommand = (group) => {
  defineCommand(group, {
    usage: 'list',
    summary: 'List the indexes of a store, with advice',
    details: DETAILS,
    examples: [['index list', 'the indexes of the store that the config names']],
  }).does(async (invocation) => {
    const { output, signal } = invocation
    const settings = await invocation.settings()
    const store = await invocation.openStore()
    const indexes = await store.indexes({ signal })
    const advice = indexAdvice(generationsOf(store), settings.indexes)
    output.result({ indexes, advice }, () =>
      indexes.length === 0
        ? 'No indexes.'
        : [indexTable(output, indexes), ...advice.map((text) => `\n${text}`)].join('\n'),
    )
  })
}
