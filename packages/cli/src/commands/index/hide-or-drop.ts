import { isInUse } from '@looseleaf/index-engine/internal'
import { confirm } from '../../running/confirm.ts'
import { exitCodes, type ExitCode } from '../../running/exit-codes.ts'
import {
  argumentsFor,
  generationsText,
  numbersOf,
  type ChosenGenerations,
  type Generation,
  type GenerationOption,
} from '../../indexes/index-generations.ts'
import type { LooseleafCommand } from '../../running/define-command.ts'
import type { Invocation } from '../../running/invocation.ts'

export interface HideOrDropOptions extends GenerationOption {
  readonly now?: boolean
  readonly yes?: boolean
  readonly dryRun?: boolean
}

export const HIDE_OR_DROP_JSON = `  { "step": "hide", "drop" or "none",
    "indexes": [{ "name", "generations": [number] }],
    "done": false after a no, and with --dry-run }`

export function addHideOrDropOptions(command: LooseleafCommand): LooseleafCommand {
  return command
    .option('--now', 'drop it at once, without hiding it first')
    .option('--yes', 'do not ask')
    .option('--dry-run', 'print the next step, and change nothing')
}

/**
 * Hides generations of indexes, which `restore` undoes, or drops them if all are hidden already, or with `now`. The step is the
 * same for all indexes, so a repeated command drops nothing that it should hide. Asks the user once, first. `again` is the
 * command line of the next step.
 */
export async function hideOrDrop(
  invocation: Invocation,
  given: readonly ChosenGenerations[],
  again: string,
  { now, yes, dryRun }: HideOrDropOptions,
): Promise<ExitCode> {
  const { output, signal } = invocation
  const store = await invocation.openStore()
  const visible = given
    .map((each) => ({ ...each, chosen: each.chosen.filter(isVisible) }))
    .filter(({ chosen }) => chosen.length > 0)
  const step = now === true || visible.length === 0 ? 'drop' : 'hide'
  const removals = step === 'hide' ? visible : given
  const result = {
    step,
    indexes: removals.map(({ name, chosen }) => ({ name, generations: numbersOf(chosen) })),
  }
  const subject = removals
    .map(({ name, chosen }) => `index ${name}, ${generationsText(chosen)}`)
    .join(', and ')
  const effect = step === 'hide' ? hideEffect(removals) : dropEffect(removals)
  if (dryRun === true) {
    output.result({ ...result, done: false }, () => `This would ${step} ${subject}. ${effect}`)
    return exitCodes.ok
  }
  if (!(await confirm(invocation, `${step === 'hide' ? 'Hide' : 'Drop'} ${subject}? ${effect}`, yes))) {
    output.result({ ...result, done: false }, () => 'Nothing was changed.')
    return exitCodes.found
  }
  if (step === 'drop') output.note(`Dropping ${subject} …`)
  for (const { rows } of removals.flatMap(({ chosen }) => chosen)) {
    if (step === 'hide') await store.hideIndex(rows, { signal })
    else await store.dropIndex(rows, { signal })
  }
  const [is, it] = removals.length === 1 ? ['is', 'it'] : ['are', 'them']
  output.result({ ...result, done: true }, () =>
    step === 'hide'
      ? `I${subject.slice(1)}, ${is} hidden. ${effect}\nOnce no process needs ${it}, drop ${it} with: ${again}`
      : `I${subject.slice(1)}, ${is} dropped.`,
  )
  return exitCodes.ok
}

function isVisible({ rows }: Generation): boolean {
  return isInUse(rows) && !rows.hidden
}

function hideEffect(removals: readonly ChosenGenerations[]): string {
  const it = removals.length === 1 ? 'it' : 'them'
  const named = removals.map(({ name, chosen, all }) => argumentsFor(name, chosen, all.length))
  // `--generation` names a generation of one index.
  const lists = named.every((text, i) => text === removals[i]?.name) ? [named.join(' ')] : named
  const commands = lists.map((text) => `\`looseleaf index restore ${text}\``).join(' and ')
  const brings = lists.length === 1 ? 'brings' : 'bring'
  return `Queries of ${it} are refused; writers keep ${it} up to date, so ${commands} ${brings} ${it} back at once.`
}

function dropEffect(removals: readonly ChosenGenerations[]): string {
  const [its, it] = removals.length === 1 ? ['Its', 'it'] : ['Their', 'them']
  const kept = removals.map((each) =>
    keptClaimsText(each, removals.length === 1 ? 'its claims' : `the claims of ${each.name}`),
  )
  return `${its} tables are dropped on every shard${kept.join('')}. To get ${it} back, add and fill ${it} again. Entities do not change.`
}

/** Returns an exception for claims that stay because other generations share them, or an empty text. */
function keptClaimsText({ chosen, all }: ChosenGenerations, claimsName: string): string {
  const rows = new Set(chosen.map((each) => each.rows.table))
  const claims = new Set(chosen.map((each) => each.claims?.table))
  const sharing = all.filter(
    (each) =>
      isInUse(each.rows) && !rows.has(each.rows.table) && each.claims && claims.has(each.claims.table),
  )
  return sharing.length === 0 ? '' : `, except ${claimsName}, which ${generationsText(sharing)} needs too`
}
