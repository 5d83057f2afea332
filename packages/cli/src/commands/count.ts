import { definitionFromData } from '@looseleaf/index-engine'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { findIndex } from '../find-index.ts'
import { counted } from '../text.ts'
import type { CommonOptions } from '../session.ts'
import { parseWhere } from '../where-expression.ts'
import { WHERE_HELP } from './query.ts'

interface CountCommandOptions extends CommonOptions {
  readonly exact?: boolean
  readonly scatter?: boolean
}

const DETAILS = `${WHERE_HELP}

A number up to 1,000 is exact. A greater one counts index rows, which may be too
many for a while after writes; --exact reads every entity.

JSON: { "count" }`

/** `looseleaf count`: how many entities match. */
export const addCount: AddCommand = (program, run) => {
  defineCommand(program, {
    usage: 'count <index> [conditions...]',
    summary: 'Count entities by an index',
    details: DETAILS,
    examples: [
      ['count entries_by_user user_id=0192f0c1-7c1e-7abc-8def-0123456789ab', 'the entries of a user'],
    ],
  })
    .option('--exact', 'look at every entity, however many there are')
    .option('--scatter', 'ask all shards where the conditions do not say which one')
    .action((name: string, conditions: string[], options: CountCommandOptions) =>
      run(options, async (session) => {
        const { output, signal } = session
        const store = await session.store()
        const index = definitionFromData(findIndex(store, name))
        const { exact, scatter = false } = options
        const count = await store.count(index, parseWhere(index, conditions), { exact, scatter, signal })
        output.result({ count }, () => counted(count, 'entity', 'entities'))
      }),
    )
}
