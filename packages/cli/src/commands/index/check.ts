import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { checkText, cleanText } from '../../indexes/clean-view.ts'
import { checkAndReport, cleanAndReport, exitCodeOfClean } from '../../indexes/clean-and-report.ts'
import { exitCodes } from '../../running/exit-codes.ts'
import {
  addGenerationOption,
  generationsNamed,
  type GenerationOption,
} from '../../indexes/index-generations.ts'
import type { IndexName } from '@looseleaf/cleaner/internal'
import type { Invocation } from '../../running/invocation.ts'
import { CHECK_JSON, CLEAN_EXIT, CLEAN_JSON, DANGLING } from '../clean-help.ts'

interface RepairOptions extends GenerationOption {
  readonly restart?: boolean
}

const GENERATION = 'this generation (default: the one being filled, or all)'

const CHECK_DETAILS = `Does what \`looseleaf clean --check\` does, for one index. The exit code is 1
when rows are missing or on the wrong shard, when keys are not claimed, or when
bodies cannot be decoded.

${DANGLING}

JSON:
${CHECK_JSON}`

const REPAIR_DETAILS = `Does what \`looseleaf clean\` does, for one index: adds missing rows and deletes
rows that match no entity. You can stop it at any time; the next run continues
from there.

${CLEAN_EXIT}

JSON:
${CLEAN_JSON}`

export const addCheckIndex: AddCommand = (group) => {
  const check = defineCommand(group, {
    usage: 'check <name>',
    summary: 'Compare an index with all entities; repair nothing',
    details: CHECK_DETAILS,
    examples: [
      ['index check entries_by_link', 'count missing and dangling rows'],
      ['index check entries_by_link --generation 1', 'the old generation while a new one is being filled'],
    ],
  })
  addGenerationOption(check, GENERATION).does(async (invocation, name: string, options: GenerationOption) => {
    const { output } = invocation
    const result = await checkAndReport(invocation, await indexNamed(invocation, name, options.generation))
    output.result(result, () => checkText(output, result.indexes))
    return result.ok ? exitCodes.ok : exitCodes.found
  })

  const repair = defineCommand(group, {
    usage: 'repair <name>',
    summary: 'Fill an index, or repair it, and check it',
    details: REPAIR_DETAILS,
    examples: [
      ['index repair entries_by_link', 'add missing rows, delete dangling ones'],
      ['index repair entries_by_link --restart', 'write every row again: after a restore or a failover'],
    ],
  })
  addGenerationOption(repair, GENERATION)
    .option('--restart', 'start over and write every row again')
    .does(async (invocation, name: string, options: RepairOptions) => {
      const { output } = invocation
      const names = await indexNamed(invocation, name, options.generation)
      const result = await cleanAndReport(invocation, names, { restart: options.restart })
      output.result(result, () => cleanText(output, result))
      return exitCodeOfClean(result)
    })
}

async function indexNamed(
  invocation: Invocation,
  name: string,
  generation: number | undefined,
): Promise<readonly IndexName[]> {
  await generationsNamed(invocation, name, generation)
  return [generation === undefined ? name : { name, generation }]
}
