import type { Command } from 'commander'
import { isInUse } from '@looseleaf/index-engine/internal'
import { confirm } from '../../running/confirm.ts'
import { exitCodes, type ExitCode } from '../../running/exit-codes.ts'
import { argumentsFor, generationsText, numbersOf, type Generation } from '../../indexes/index-generations.ts'
import type { CommonOptions, Session } from '../../running/session.ts'

export interface HideOrDropOptions extends CommonOptions {
  readonly now?: boolean
  readonly yes?: boolean
  readonly dryRun?: boolean
}

export const HIDE_OR_DROP_JSON = `  { "step": "hide", "drop" or "none", "generations": [number],
    "done": false after a no, and with --dry-run }`

export function addHideOrDropOptions(command: Command): Command {
  return command
    .option('--now', 'drop it at once, without hiding it first')
    .option('--yes', 'do not ask')
    .option('--dry-run', 'print the next step, and change nothing')
}

/**
 * Hides generations of an index, which `restore` undoes, or drops them if all are hidden already, or with `now`. Asks the
 * user first. `again` is the command line of the next step.
 */
export async function hideOrDrop(
  session: Session,
  name: string,
  removed: readonly Generation[],
  { all, again }: { readonly all: readonly Generation[]; readonly again: string },
  { now, yes, dryRun }: HideOrDropOptions,
): Promise<ExitCode> {
  const { output, signal } = session
  const store = await session.store()
  const visible = removed.filter(({ rows }) => isInUse(rows) && !rows.hidden)
  const step = now === true || visible.length === 0 ? 'drop' : 'hide'
  const chosen = step === 'hide' ? visible : removed
  const result = { step, generations: numbersOf(chosen) }
  const subject = `index ${name}, ${generationsText(chosen)}`
  const effect =
    step === 'hide'
      ? `Queries of it are refused; writers keep it up to date, so \`looseleaf index restore ${argumentsFor(name, chosen, all.length)}\` brings it back at once.`
      : `Its tables are dropped on every shard${keptClaimsText(chosen, all)}. To get it back, add and fill it again. Entities do not change.`
  if (dryRun === true) {
    output.result({ ...result, done: false }, () => `This would ${step} ${subject}. ${effect}`)
    return exitCodes.ok
  }
  if (!(await confirm(session, `${step === 'hide' ? 'Hide' : 'Drop'} ${subject}? ${effect}`, yes))) {
    output.result({ ...result, done: false }, () => 'Nothing was changed.')
    return exitCodes.found
  }
  if (step === 'drop') output.note(`Dropping ${subject} …`)
  for (const { rows } of chosen) {
    if (step === 'hide') await store.hideIndex(rows, { signal })
    else await store.dropIndex(rows, { signal })
  }
  output.result({ ...result, done: true }, () =>
    step === 'hide'
      ? `I${subject.slice(1)}, is hidden. ${effect}\nOnce no process needs it, drop it with: ${again}`
      : `I${subject.slice(1)}, is dropped.`,
  )
  return exitCodes.ok
}

/** Returns an exception for claims that stay because other generations share them, or an empty text. */
function keptClaimsText(chosen: readonly Generation[], all: readonly Generation[]): string {
  const rows = new Set(chosen.map((each) => each.rows.table))
  const claims = new Set(chosen.map((each) => each.claims?.table))
  const sharing = all.filter(
    (each) =>
      isInUse(each.rows) && !rows.has(each.rows.table) && each.claims && claims.has(each.claims.table),
  )
  return sharing.length === 0 ? '' : `, except its claims, which ${generationsText(sharing)} needs too`
}
