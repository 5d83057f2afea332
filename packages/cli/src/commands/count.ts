import { counted } from '@looseleaf/core/internal'
import { definitionFromData } from '@looseleaf/index-engine/internal'
import { Option } from 'commander'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { findIndex } from '../indexes/find-index.ts'
import { parseWhere } from '../indexes/where-expression.ts'
import { WHERE_HELP } from './query.ts'

interface CountCommandOptions {
  readonly exact?: boolean
  readonly rows?: boolean
  readonly scatter?: boolean
}

const DETAILS = `${WHERE_HELP}

A number up to 1,000 is exact. A greater one counts index rows, which may be too
many for a while after writes. --exact reads every entity; --rows always counts
index rows.

JSON: { "count" }`

export const addCount: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'count <index> [conditions...]',
    summary: 'Count entities by an index',
    details: DETAILS,
    examples: [
      ['count entries_by_user user_id=0192f0c1-7c1e-7abc-8def-0123456789ab', 'the entries of a user'],
    ],
  })
    .option('--exact', 'read every matching entity')
    .addOption(new Option('--rows', 'count index rows, and read no entity').conflicts('exact'))
    .option('--scatter', 'ask all shards, for conditions without the shard key')
    .does(
      async (
        { output, signal, openStore },
        name: string,
        conditions: string[],
        options: CountCommandOptions,
      ) => {
        const store = await openStore()
        const index = definitionFromData(findIndex(store, name))
        const { rows, scatter = false } = options
        const exact = rows ? false : options.exact
        const count = await store.count(index, parseWhere(index, conditions), { exact, scatter, signal })
        output.result({ count }, () =>
          rows ? counted(count, 'index row', 'index rows') : counted(count, 'entity', 'entities'),
        )
      },
    )
}
