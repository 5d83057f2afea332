import { LooseleafError } from '@looseleaf/core'
import { isInUse } from '@looseleaf/index-engine/internal'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { exitCodes } from '../../running/exit-codes.ts'
import { countDuplicates, duplicatesText } from '../../indexes/claim-duplicates.ts'
import {
  addGenerationOption,
  argumentsFor,
  generationsNamed,
  generationsText,
  isReady,
  neededGeneration,
  newerThan,
  type Generation,
} from '../../indexes/index-generations.ts'
import type { Invocation } from '../../running/invocation.ts'
import {
  addHideOrDropOptions,
  hideOrDrop,
  HIDE_OR_DROP_JSON,
  type HideOrDropOptions,
} from './hide-or-drop.ts'

const DETAILS = `Keeps the generation that the config defines, or the newest one if the config
does not have the index. The first run hides all others, the second run drops
them. Refused while the kept generation is not ready. Processes with an older
program query an older generation, and Looseleaf cannot know whether one still
runs. So a hidden generation refuses queries: watch for errors before you drop
it.

JSON:
${HIDE_OR_DROP_JSON}`

export const addSwapIndex: AddCommand = (group) => {
  const command = defineCommand(group, {
    usage: 'swap <name>',
    summary: 'Hide or drop the generations of an index that are no longer needed',
    details: DETAILS,
    examples: [
      ['index swap entries_by_link', 'hide the old generations; a second run drops them'],
      [
        'index swap entries_by_link --generation 1',
        'go back to the first generation, and hide the later ones',
      ],
    ],
  })
  addHideOrDropOptions(
    addGenerationOption(command, 'keep this generation (default: the one of the config, or the newest)'),
  ).does(async (invocation, name: string, options: HideOrDropOptions) => {
    const { output } = invocation
    const { generation } = options
    const { all, chosen } = await generationsNamed(invocation, name, generation)
    const given = generation === undefined ? undefined : chosen[0]
    const kept = await generationToKeep(invocation, name, all, given)
    const removed = all.filter((each) => each !== kept)
    if (removed.length === 0) {
      output.result({ step: 'none', indexes: [], done: true }, () => `Index ${name} has no other generation.`)
      return exitCodes.ok
    }
    const newer = given === undefined ? newerThan(kept, removed) : undefined
    if (newer !== undefined) {
      const { file } = await invocation.settings()
      output.warn(
        `generation ${newer.rows.generation} is newer than generation ${kept.rows.generation}, which ${file} defines. Processes of a newer program may query it.`,
      )
    }
    const which = generation === undefined ? name : `${name} --generation ${generation}`
    const removal = { name, chosen: removed, all }
    return hideOrDrop(invocation, [removal], `looseleaf index swap ${which}`, options)
  })
}

async function generationToKeep(
  invocation: Invocation,
  name: string,
  all: readonly Generation[],
  given: Generation | undefined,
): Promise<Generation> {
  const { indexes, file } = await invocation.settings()
  const kept = given ?? neededGeneration(all, indexes)
  const using = all.filter(({ rows }) => isInUse(rows))
  if (using.length === 0) throw halfDropped(name, all, all.length)
  if (kept === undefined) {
    throw new LooseleafError(
      'INDEX_NOT_FOUND',
      `No generation of index ${name} in the store has the definition of ${file}. Add it with: looseleaf index add ${name} --fill`,
    )
  }
  if (!isInUse(kept.rows)) throw halfDropped(name, [kept], all.length)
  if (isReady(kept)) return kept
  throw await notReady(invocation, name, kept)
}

/** Returns the error for keeping a generation in use that is not ready, with the command that helps. */
async function notReady(
  invocation: Invocation,
  name: string,
  { rows, claims }: Generation,
): Promise<LooseleafError> {
  const { generation, state, hidden } = rows
  const which = `${name} --generation ${generation}`
  const repair = `looseleaf index repair ${which}`
  const subject = `Index ${name}, generation ${generation},`
  const error = (text: string): LooseleafError => new LooseleafError('INDEX_NOT_READY', `${subject} ${text}`)
  if (hidden)
    return error(
      `is hidden, so it cannot replace the others. Bring it back with: looseleaf index restore ${which}`,
    )
  if (state !== 'ready' || claims === undefined)
    return error(`is ${state}: the others stay until it is ready. Fill it with: ${repair}`)
  const duplicates = (await countDuplicates(invocation, [claims])).get(claims) ?? 0
  return error(
    duplicates === 0
      ? `is building its claims: the others stay until it is ready. Fill it with: ${repair}`
      : duplicatesText(name, duplicates, repair, 'the others stay until it is ready'),
  )
}

/** Returns the error for keeping retiring generations, which cannot become ready again. */
function halfDropped(name: string, retiring: readonly Generation[], total: number): LooseleafError {
  return new LooseleafError(
    'INDEX_NOT_READY',
    `Index ${name}, ${generationsText(retiring)}, is half dropped, so it cannot be kept. Finish with: looseleaf index drop ${argumentsFor(name, retiring, total)}`,
  )
}
