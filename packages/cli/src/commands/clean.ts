import { counted } from '@looseleaf/core/internal'
import { deleteExpired } from '@looseleaf/cleaner'
import { checkRewinds } from '@looseleaf/cleaner/internal'
import { isExpiring, isInUse } from '@looseleaf/index-engine/internal'
import { checkText, cleanText } from '../indexes/clean-view.ts'
import { checkAndReport, cleanAndReport, exitCodeOfClean } from '../indexes/clean-and-report.ts'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { exitCodes, type ExitCode } from '../running/exit-codes.ts'
import { findIndex } from '../indexes/find-index.ts'
import { parseLease } from '../running/parse-whole.ts'
import { addRateOption } from '../running/rate-option.ts'
import type { Invocation } from '../running/invocation.ts'
import { CHECK_JSON, CLEAN_EXIT, CLEAN_JSON, DANGLING } from './clean-help.ts'

interface CleanCommandOptions {
  readonly index?: readonly string[]
  readonly check?: boolean
  readonly restart?: boolean
  readonly rowsPerSecond?: number
  readonly lease?: number
}

const DETAILS = `Deletes expired entities, adds missing index rows, deletes rows that match no
entity, checks the indexes, and makes filled indexes ready. The store may be in
use. You can stop it at any time with Ctrl-C; the next run continues from there.
Several runs at the same time share the work.

${CLEAN_EXIT}

With --check it changes nothing. The exit code is 1 when index rows are missing
or on the wrong shard, when an entity has not claimed its key of a unique index,
or when bodies cannot be decoded.

${DANGLING}

JSON:
${CLEAN_JSON}
With --check:
${CHECK_JSON}`

export const addClean: AddCommand = (program) => {
  const command = defineCommand(program, {
    usage: 'clean',
    summary: 'Fill new indexes and repair others, or check them',
    details: DETAILS,
    examples: [
      ['clean', 'every index of the store'],
      ['clean --index entries_by_link', 'fill an index that was just added'],
      ['clean --check', 'recompute all indexes and compare'],
    ],
  })
    .option('--index <name...>', 'only these indexes (default: all)')
    .option('--check', 'compare, and change nothing')
    .option('--restart', 'start over and write every row again: after a restore or a failover')
  addRateOption(command)
    .option(
      '--lease <seconds>',
      'time until other processes take over the work of a dead one (default: 30, at most 300)',
      parseLease,
    )
    .does((invocation, options: CleanCommandOptions) =>
      options.check === true ? check(invocation, options) : clean(invocation, options),
    )
}

async function clean(
  invocation: Invocation,
  { index: names, restart, rowsPerSecond, lease }: CleanCommandOptions,
): Promise<ExitCode> {
  const { output } = invocation
  const store = await invocation.openStore()
  for (const name of names ?? []) findIndex(store, name)
  const { signal } = invocation
  await checkRewinds(store, { signal })
  const expired = await deleteExpiredOf(invocation, names, rowsPerSecond)
  const result = await cleanAndReport(invocation, names, {
    restart,
    rowsPerSecond,
    leaseMs: lease && lease * 1000,
  })
  await checkRewinds(store, { signal })
  output.result({ ...result, expired }, () =>
    [
      ...(expired === 0 ? [] : [`${counted(expired, 'expired entity', 'expired entities')} deleted.`]),
      cleanText(output, result),
    ].join('\n'),
  )
  return exitCodeOfClean(result)
}

/** Deletes expired entities if their index is among the names, or without names. Returns their number. */
async function deleteExpiredOf(
  { signal, ...invocation }: Invocation,
  names: readonly string[] | undefined,
  rowsPerSecond: number | undefined,
): Promise<number> {
  const store = await invocation.openStore()
  const { indexes } = store.context.catalog.current()
  const isSelected = indexes.some((entry) => isExpiring(entry) && (names?.includes(entry.name) ?? true))
  return isSelected ? deleteExpired(store, { signal, rowsPerSecond }) : 0
}

async function check(invocation: Invocation, options: CleanCommandOptions): Promise<ExitCode> {
  const { output } = invocation
  const store = await invocation.openStore()
  const kept = store.context.catalog.current().indexes.filter(isInUse)
  const names = options.index ?? [...new Set(kept.map(({ name }) => name))]
  const result = await checkAndReport(invocation, names, options.rowsPerSecond)
  output.result(result, () => checkText(output, result.indexes))
  return result.ok ? exitCodes.ok : exitCodes.found
}
