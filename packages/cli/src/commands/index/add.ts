import type { IndexDefinitionData } from '@looseleaf/core'
import { LooseleafError } from '@looseleaf/core'
import type { IndexStatus } from '@looseleaf/store'
import { countDuplicates, duplicatesText } from '../../indexes/claim-duplicates.ts'
import { cleanText } from '../../indexes/clean-view.ts'
import { cleanAndReport, exitCodeOfClean } from '../../indexes/clean-and-report.ts'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { behindText, entitiesBehind } from '../../indexes/entities-behind.ts'
import { exitCodes } from '../../running/exit-codes.ts'
import { generationsOf, neededGeneration } from '../../indexes/index-generations.ts'
import { planAdd } from '../../indexes/plan-add.ts'
import { planText } from '../../indexes/plan-view.ts'
import type { Invocation, Settings } from '../../running/invocation.ts'
import { CLEAN_EXIT } from '../clean-help.ts'

interface AddOptions {
  readonly fill?: boolean
  readonly dryRun?: boolean
}

interface Added extends IndexStatus {
  readonly claims?: IndexStatus['state']
  /** Number of entities with a key of another entity, by the last cleaning, if they keep the claims from becoming ready. */
  readonly duplicates?: number
}

const DETAILS = `All processes write the new indexes from then on. They can be queried once
--fill or \`looseleaf clean\` has filled them. Several indexes are added in one
change and filled by one pass over the entities. A changed definition becomes a
new generation beside the old one. A hidden index is restored. After a stop, the
same command continues.

With --fill, a warning on stderr counts the entities of an index's kind that are
stored in an older shape or without a default. The index has their old values
until \`looseleaf kind upgrade\` has rewritten them. The warning leaves the exit
code 0, because the indexes are ready.

${CLEAN_EXIT}

JSON:
  { "indexes": [{ "name", "generation", "table", "state", "columns", "shardOn",
      "claims": state of the claims of a unique index,
      "duplicates": entities that keep the claims from becoming ready }],
    "filled": with --fill, as \`looseleaf clean --json\` prints it,
    "behind": with --fill, { kind: number of entities to upgrade } }
With --dry-run:
  { "indexes": [{ "index",
      "action": "new", "generation", "claims", "restore", "misfits" or
        "nothing",
      "generation", "differs": [text],
      "refusesDuplicates": true if an index in use gets new claims,
      "tables": [{ "table", "statements": [sql] }] }],
    "shards": [name], "entities": estimate of the entities to read }`

export const addAddIndex: AddCommand = (group) => {
  defineCommand(group, {
    usage: 'add <names...>',
    summary: 'Add indexes of the config to a store in use, and fill them',
    details: DETAILS,
    examples: [
      ['index add entries_by_link --dry-run', 'print the effect and the SQL'],
      ['index add entries_by_link --fill', 'the definition of this name in looseleaf.config.ts'],
      ['index add entries_by_link entries_by_tag --fill', 'two indexes by one pass over the entities'],
    ],
  })
    .option('--fill', 'fill them like `looseleaf clean`; after a stop, the same command continues')
    .option('--dry-run', 'print the effect, and change nothing')
    .does(async (invocation, given: string[], options: AddOptions) => {
      const { output, signal } = invocation
      const names = [...new Set(given)]
      const settings = await invocation.settings()
      const definitions = names.flatMap((name) => definitionsNamed(settings, name))
      const store = await invocation.openStore()
      if (options.dryRun === true) {
        const plan = await planAdd(store, definitions, { signal })
        output.result(plan, () => planText(plan))
        return exitCodes.ok
      }
      await store.addIndex(definitions, { signal })
      const filled = options.fill === true ? await cleanAndReport(invocation, names) : undefined
      const indexes = await addedNow(invocation, definitions)
      if (filled === undefined) {
        output.result({ indexes }, () => indexes.map(addedText).join('\n'))
        return exitCodes.ok
      }
      const behind = await entitiesBehind(store, settings.kinds, names, { signal })
      output.result({ indexes, filled, behind }, () => cleanText(output, filled))
      for (const text of behindText(behind)) output.warn(text)
      return exitCodeOfClean(filled)
    })
}

/** Returns the current state of the generations with these definitions. */
async function addedNow(
  invocation: Invocation,
  definitions: readonly IndexDefinitionData[],
): Promise<Added[]> {
  const store = await invocation.openStore()
  const all = await store.indexes({ signal: invocation.signal })
  const generations = generationsOf(store)
  const needed = definitions.map((definition) =>
    neededGeneration(
      generations.filter(({ rows }) => rows.name === definition.name),
      [definition],
    ),
  )
  const duplicates = await countDuplicates(
    invocation,
    needed.flatMap((each) =>
      each?.rows.state === 'ready' && each.claims?.state === 'building' ? [each.claims] : [],
    ),
  )
  return definitions.flatMap(({ unique }, i) => {
    const { rows, claims } = needed[i] ?? {}
    const added = all.find(({ table }) => table === rows?.table)
    const count = (claims && duplicates.get(claims)) ?? 0
    return added === undefined
      ? []
      : [
          {
            ...added,
            ...(unique && claims && { claims: claims.state }),
            ...(count > 0 && { duplicates: count }),
          },
        ]
  })
}

function addedText({ name, state, claims = 'ready', duplicates = 0 }: Added): string {
  if (state === 'ready' && claims === 'ready') return `Index ${name} is ready.`
  const clean = `looseleaf clean --index ${name}`
  if (duplicates > 0)
    return `Index ${name} ${duplicatesText(name, duplicates, clean, 'its claims are not ready')}`
  const stateText = state === 'ready' ? `${claims} its claims` : state
  return `Index ${name} is ${stateText}. Fill it with: ${clean}`
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
