import type { CallOptions, IndexDefinitionData } from '@looseleaf/core'
import { LooseleafError } from '@looseleaf/core'
import type { DataStore, IndexStatus } from '@looseleaf/store'
import { cleanText } from '../../clean-view.ts'
import { cleanTelling, exitCodeOfClean } from '../../cleaning.ts'
import { defineCommand, type AddCommand } from '../../define-command.ts'
import { behindText, entitiesBehind } from '../../entities-behind.ts'
import { exitCodes } from '../../exit-codes.ts'
import { generationsOf, neededOf } from '../../index-generations.ts'
import { planAdd } from '../../plan-add.ts'
import { planText } from '../../plan-view.ts'
import type { CommonOptions, Settings } from '../../session.ts'

interface AddOptions extends CommonOptions {
  readonly fill?: boolean
  readonly dryRun?: boolean
}

interface Added extends IndexStatus {
  /** The state of its claims, where it is unique. */
  readonly claims?: IndexStatus['state']
}

const DETAILS = `Processes write the new indexes from now on. They can be queried when they are
filled: by --fill or \`looseleaf clean\`. Several are added in one change and
filled by one reading of the entities. A changed definition becomes a new
generation beside the old one. A hidden index is shown again. After a stop, the
same command goes on.

With --fill, an index of a kind ends with a count of the entities that are stored
in an older shape or without a default of the kind. The index has their values
from before, until \`looseleaf kind upgrade\` has written them. The exit code is 1
then.

JSON:
  { "indexes": [{ "name", "generation", "table", "state", "columns", "shardOn",
      "claims": their state, where the index is unique }],
    "filled": with --fill, as \`looseleaf clean --json\` prints it,
    "behind": with --fill, { kind: entities to be upgraded } }
With --dry-run:
  { "indexes": [{ "index",
      "action": "new", "generation", "claims", "restore", "misfits" or
        "nothing",
      "generation", "differs": [text],
      "tables": [{ "table", "statements": [sql] }] }],
    "shards": [name], "entities": an estimate of what a filling reads }`

/** `looseleaf index add`. */
export const addAddIndex: AddCommand = (group, run) => {
  defineCommand(group, {
    usage: 'add <names...>',
    summary: 'Add indexes of the config to a store in use, and fill them',
    details: DETAILS,
    examples: [
      ['index add entries_by_link --dry-run', 'what would be done, with the SQL'],
      ['index add entries_by_link --fill', 'the definition of this name in looseleaf.config.ts'],
      ['index add entries_by_link entries_by_tag --fill', 'two, by one reading of the entities'],
    ],
  })
    .option(
      '--fill',
      'fill them, as `looseleaf clean` does; may be stopped, and goes on when it is run again',
    )
    .option('--dry-run', 'say what would be done, and change nothing')
    .action((given: string[], options: AddOptions) =>
      run(options, async (session) => {
        const { output, signal } = session
        const names = [...new Set(given)]
        const settings = await session.settings()
        const definitions = names.flatMap((name) => definitionsNamed(settings, name))
        const store = await session.store()
        if (options.dryRun === true) {
          const plan = await planAdd(store, definitions, { signal })
          output.result(plan, () => planText(plan))
          return exitCodes.ok
        }
        await store.addIndex(definitions, { signal })
        const filled = options.fill === true ? await cleanTelling(session, names) : undefined
        const indexes = await addedNow(store, definitions, { signal })
        if (filled === undefined) {
          output.result({ indexes }, () => indexes.map(addedText).join('\n'))
          return exitCodes.ok
        }
        const behind = await entitiesBehind(store, settings.kinds, names, { signal })
        const notes = behindText(behind)
        output.result({ indexes, filled, behind }, () => [cleanText(output, filled), ...notes].join('\n'))
        return notes.length > 0 ? exitCodes.found : exitCodeOfClean(filled)
      }),
    )
}

/** The generations of these definitions, as they are now. */
async function addedNow(
  store: DataStore,
  definitions: readonly IndexDefinitionData[],
  options: CallOptions,
): Promise<Added[]> {
  const all = await store.indexes(options)
  const generations = generationsOf(store)
  return definitions.flatMap((definition) => {
    const own = generations.filter(({ rows }) => rows.name === definition.name)
    const needed = neededOf(own, [definition])
    const added = all.find(({ table }) => table === needed?.rows.table)
    const claims = definition.unique ? needed?.claims?.state : undefined
    return added === undefined ? [] : [{ ...added, ...(claims && { claims }) }]
  })
}

function addedText({ name, state, claims = 'ready' }: Added): string {
  if (state === 'ready' && claims === 'ready') return `Index ${name} is ready.`
  const doing = state === 'ready' ? `${claims} its claims` : state
  return `Index ${name} is ${doing}. Fill it with: looseleaf clean --index ${name}`
}

function definitionsNamed({ indexes, file }: Settings, name: string): readonly IndexDefinitionData[] {
  const found = indexes.filter((index) => index.name === name)
  if (found.length > 0) return found
  const where =
    file === undefined ? 'There is no config file, and' : `${file} has no index ${JSON.stringify(name)};`
  const names = indexes.map((index) => index.name).join(', ') || 'none'
  throw new LooseleafError(
    'INDEX_NOT_FOUND',
    `${where} an index is added by its definition in the config${file === undefined ? '' : `, which has ${names}`}.`,
  )
}
