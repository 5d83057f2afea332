import { LooseleafError } from '@looseleaf/core'
import { isInUse } from '@looseleaf/index-engine'
import { defineCommand, type AddCommand } from '../../define-command.ts'
import { exitCodes } from '../../exit-codes.ts'
import {
  addGenerationOption,
  argumentsFor,
  generationsNamed,
  generationsText,
  isReady,
  neededOf,
  newerThan,
  type Generation,
} from '../../index-generations.ts'
import type { Session } from '../../session.ts'
import { addTakeOutOptions, takeOut, TAKE_OUT_JSON, type TakeOutOptions } from './take-out.ts'

interface SwapOptions extends TakeOutOptions {
  readonly generation?: number
}

const DETAILS = `Keeps the generation that the config defines, or the newest one where the config
has no such index. Hides all others; run again, drops them. Refused while the
one to keep is not ready. Processes of an older version of a program query an
older generation, and Looseleaf does not know whether one still runs: hide the
old generation, and see whether queries fail.

JSON:
${TAKE_OUT_JSON}`

/** `looseleaf index swap`: takes out the generations beside the one that is needed. */
export const addSwapIndex: AddCommand = (group, run) => {
  const command = defineCommand(group, {
    usage: 'swap <name>',
    summary: 'Take out the generations of an index that are needed no more',
    details: DETAILS,
    examples: [
      ['index swap entries_by_link', 'hide the old generations; the same again drops them'],
      ['index swap entries_by_link --generation 1', 'go back to the first, and take out what came after it'],
    ],
  })
  addTakeOutOptions(
    addGenerationOption(command, 'the one to keep (default: that of the config, or the newest)'),
  ).action((name: string, options: SwapOptions) =>
    run(options, async (session) => {
      const { output, signal } = session
      const { generation } = options
      const { all, chosen } = await generationsNamed(await session.store(), name, generation, { signal })
      const given = generation === undefined ? undefined : chosen[0]
      const kept = await generationToKeep(session, name, all, given)
      const going = all.filter((each) => each !== kept)
      if (going.length === 0) {
        output.result(
          { step: 'none', generations: [], done: true },
          () => `Index ${name} has no other generation.`,
        )
        return exitCodes.ok
      }
      const newer = given === undefined ? newerThan(kept, going) : undefined
      if (newer !== undefined) {
        const { file } = await session.settings()
        output.note(
          `${output.colors.yellow('Warning:')} generation ${newer.rows.generation} is newer than generation ${kept.rows.generation}, which ${file} defines. Processes of a newer program may query it.`,
        )
      }
      const which = generation === undefined ? name : `${name} --generation ${generation}`
      return takeOut(session, name, going, { all, again: `looseleaf index swap ${which}` }, options)
    }),
  )
}

async function generationToKeep(
  session: Session,
  name: string,
  all: readonly Generation[],
  given: Generation | undefined,
): Promise<Generation> {
  const { indexes, file } = await session.settings()
  const kept = given ?? neededOf(all, indexes)
  const using = all.filter(({ rows }) => isInUse(rows))
  if (using.length === 0) throw halfDropped(name, all, all.length)
  if (kept === undefined) {
    throw new LooseleafError(
      'INDEX_NOT_FOUND',
      `No generation of index ${name} in the store is as ${file} defines it. Add it with: looseleaf index add ${name} --fill`,
    )
  }
  if (!isInUse(kept.rows)) throw halfDropped(name, [kept], all.length)
  if (isReady(kept)) return kept
  const { generation, state, hidden } = kept.rows
  const which = `${name} --generation ${generation}`
  throw new LooseleafError(
    'INDEX_NOT_READY',
    hidden
      ? `Index ${name}, generation ${generation}, is hidden, so it cannot take the place of the others. Bring it back with: looseleaf index restore ${which}`
      : `Index ${name}, generation ${generation}, is ${state === 'ready' ? 'building its claims' : state}: the others stay until it is ready. Fill it with: looseleaf index repair ${which}`,
  )
}

/** What is on its way out takes nobody's place, and cannot be made to. */
function halfDropped(name: string, going: readonly Generation[], of: number): LooseleafError {
  return new LooseleafError(
    'INDEX_NOT_READY',
    `Index ${name}, ${generationsText(going)}, is half dropped, so it cannot be kept. Finish with: looseleaf index drop ${argumentsFor(name, going, of)}`,
  )
}
