import type { Command } from 'commander'
import { isInUse } from '@looseleaf/index-engine'
import { confirm } from '../../confirm.ts'
import { exitCodes, type ExitCode } from '../../exit-codes.ts'
import { argumentsFor, generationsText, numbersOf, type Generation } from '../../index-generations.ts'
import type { CommonOptions, Session } from '../../session.ts'

export interface TakeOutOptions extends CommonOptions {
  readonly now?: boolean
  readonly yes?: boolean
  readonly dryRun?: boolean
}

export const TAKE_OUT_JSON = `  { "step": "hide", "drop" or "none", "generations": [number],
    "done": false where that was not wanted, and with --dry-run }`

export function addTakeOutOptions(command: Command): Command {
  return command
    .option('--now', 'drop it at once, without hiding it first')
    .option('--yes', 'do not ask')
    .option('--dry-run', 'say what would be done, and do nothing')
}

/**
 * Takes generations of an index out in two steps, a call each: those that can be seen are hidden, which can be taken back;
 * when all are hidden, they are dropped.
 */
export async function takeOut(
  session: Session,
  name: string,
  going: readonly Generation[],
  { all, again }: { readonly all: readonly Generation[]; readonly again: string },
  { now, yes, dryRun }: TakeOutOptions,
): Promise<ExitCode> {
  const { output, signal } = session
  const store = await session.store()
  const seen = going.filter(({ rows }) => isInUse(rows) && !rows.hidden)
  const step = now === true || seen.length === 0 ? 'drop' : 'hide'
  const those = step === 'hide' ? seen : going
  const result = { step, generations: numbersOf(those) }
  const what = `index ${name}, ${generationsText(those)}`
  const meaning =
    step === 'hide'
      ? `Queries of it are refused; writers keep it up to date, so \`looseleaf index restore ${argumentsFor(name, those, all.length)}\` brings it back at once.`
      : `Its tables are dropped on every shard${staying(those, all)}. To get it back, add and fill it again. Entities are not touched.`
  if (dryRun === true) {
    output.result({ ...result, done: false }, () => `This would ${step} ${what}. ${meaning}`)
    return exitCodes.ok
  }
  if (!(await confirm(session, `${step === 'hide' ? 'Hide' : 'Drop'} ${what}? ${meaning}`, yes))) {
    output.result({ ...result, done: false }, () => 'Nothing was changed.')
    return exitCodes.found
  }
  if (step === 'drop') output.note(`Dropping ${what} …`)
  for (const { rows } of those) {
    if (step === 'hide') await store.hideIndex(rows, { signal })
    else await store.dropIndex(rows, { signal })
  }
  output.result({ ...result, done: true }, () =>
    step === 'hide'
      ? `I${what.slice(1)}, is hidden. ${meaning}\nDrop it when nobody has missed it, with: ${again}`
      : `I${what.slice(1)}, is dropped.`,
  )
  return exitCodes.ok
}

/** Claims that others need as well are left. */
function staying(those: readonly Generation[], all: readonly Generation[]): string {
  const rows = new Set(those.map((each) => each.rows.table))
  const claims = new Set(those.map((each) => each.claims?.table))
  const sharing = all.filter(
    (each) =>
      isInUse(each.rows) && !rows.has(each.rows.table) && each.claims && claims.has(each.claims.table),
  )
  return sharing.length === 0 ? '' : `, except its claims, which ${generationsText(sharing)} needs too`
}
