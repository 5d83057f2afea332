import { defineCommand, type AddCommand } from '../../define-command.ts'
import { checkText, cleanText } from '../../clean-view.ts'
import { checkTelling, cleanTelling, exitCodeOfClean } from '../../cleaning.ts'
import { exitCodes } from '../../exit-codes.ts'
import { addGenerationOption, generationsNamed } from '../../index-generations.ts'
import type { IndexName } from '@looseleaf/cleaner'
import type { CommonOptions, Session } from '../../session.ts'

interface CheckOptions extends CommonOptions {
  readonly generation?: number
}

interface RepairOptions extends CheckOptions {
  readonly restart?: boolean
}

const WHICH = 'this generation (default: the one being filled, or all)'

/** `looseleaf index check|repair`: `clean` for one index. */
export const addCheckIndex: AddCommand = (group, run) => {
  const check = defineCommand(group, {
    usage: 'check <name>',
    summary: 'Compare an index with all entities; repair nothing',
    details:
      'As `looseleaf clean --check`, of one index. The exit code is 1 when rows are missing or on the wrong shard, keys are not claimed, or bodies cannot be decoded. Rows that match no entity are counted; they change no answer.\n\nJSON: { "ok", "indexes": [{ "index", "generation", "entities", "rows", "missing", "unclaimed", "dangling", "misplaced", "misfits", "undecodable", "unsettled", "examples": [id] }] }',
    examples: [
      ['index check entries_by_link', 'is it whole?'],
      ['index check entries_by_link --generation 1', 'the old one beside one that is being filled'],
    ],
  })
  addGenerationOption(check, WHICH).action((name: string, options: CheckOptions) =>
    run(options, async (session) => {
      const { output } = session
      const result = await checkTelling(session, await indexNamed(session, name, options.generation))
      output.result(result, () => checkText(output, result.indexes))
      return result.ok ? exitCodes.ok : exitCodes.found
    }),
  )

  const repair = defineCommand(group, {
    usage: 'repair <name>',
    summary: 'Fill an index, or repair it, and check it',
    details:
      'As `looseleaf clean`, of one index: adds rows that are missing, deletes those that match no entity. It may be stopped at any time, and goes on from there when it is run again. Ends with 1 where something is left: a filling that is paused or whose index is hidden, entities that share a key of a unique index, bodies that cannot be decoded.\n\nJSON: { "indexes": [{ "index", "generation", "state", "entities", "rows", "added", "removed", "fenced", "waiting", "misplaced", "misfits", "duplicates", "undecodable", "unique": true for claims, "halted": true where it is paused or hidden }], "added", "removed", "fenced", "waiting" }',
    examples: [
      ['index repair entries_by_link', 'add what is missing, delete what dangles'],
      ['index repair entries_by_link --restart', 'write every row again: after a restore or a failover'],
    ],
  })
  addGenerationOption(repair, WHICH)
    .option('--restart', 'begin from the start and write every row again')
    .action((name: string, options: RepairOptions) =>
      run(options, async (session) => {
        const { output } = session
        const names = await indexNamed(session, name, options.generation)
        const result = await cleanTelling(session, names, { restart: options.restart })
        output.result(result, () => cleanText(output, result))
        return exitCodeOfClean(result)
      }),
    )
}

async function indexNamed(
  session: Session,
  name: string,
  generation: number | undefined,
): Promise<readonly IndexName[]> {
  await generationsNamed(await session.store(), name, generation, { signal: session.signal })
  return [generation === undefined ? name : { name, generation }]
}
