import { counted, grouped } from '@looseleaf/core/internal'
import { definitionFromData, presentShards } from '@looseleaf/index-engine/internal'
import type { QueryExplanation } from '@looseleaf/store'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { findIndex } from '../indexes/find-index.ts'
import { parseWhere } from '../indexes/where-expression.ts'
import { WHERE_HELP } from './query.ts'

const DETAILS = `${WHERE_HELP}

Reads at most some thousand index rows, and no entities. Rows are counted up to
1,000; some of them may belong to entities that no longer match. \`looseleaf
query\` prints how many rows its page has examined and discarded.

JSON:
  { "index", "generation", "table", "shards": [name], "scatter", "ranges",
    "estimatedRows", "isAtLeast", "limit", "localShare", "joinsEntities" }`

export const addExplain: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'explain <index> [conditions...]',
    summary: 'Print which shards and how many index rows a query reads',
    details: DETAILS,
    examples: [
      ['explain entries_by_user user_id=0192f0c1-7c1e-7abc-8def-0123456789ab', 'the entries of a user'],
    ],
  })
    .option('--scatter', 'ask all shards, for conditions without the shard key')
    .does(async (invocation, name: string, conditions: string[], options: { readonly scatter?: boolean }) => {
      const { scatter = false } = options
      const { output, signal } = invocation
      const store = await invocation.openStore()
      const index = definitionFromData(findIndex(store, name))
      const plan = await store.explain(index, parseWhere(index, conditions), { scatter, signal })
      output.result(plan, () => planText(plan, presentShards(store.context.driver).length))
    })
}

function planText(plan: QueryExplanation, shards: number): string {
  const { index, generation, table, estimatedRows, isAtLeast, limit, ranges, localShare, joinsEntities } =
    plan
  return [
    `Index:   ${index}, generation ${generation}, table ${table}`,
    `Shards:  ${plan.shards.length} of ${shards}: ${plan.shards.join(', ')}`,
    `Reads:   ${counted(ranges, 'range', 'ranges')} with ${isAtLeast ? 'more than ' : ''}${counted(estimatedRows, 'index row', 'index rows')}`,
    `Page:    at most ${grouped(limit)} of them, and as many entities ${joinsEntities ? 'in the same statement' : 'by id'}`,
    ...(localShare === undefined
      ? []
      : [
          `Local:   ${Math.round(localShare * 100)} % of the counted rows lead to entities of their own shard`,
        ]),
  ].join('\n')
}
