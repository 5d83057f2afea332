import { LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import { isOutage } from '@looseleaf/core/internal'
import { loadShardCatalogs, mergeCatalogs, type EngineContext } from '@looseleaf/index-engine/internal'
import { refusalOfWrite, refusalsOfWrites } from '@looseleaf/mover/internal'
import { checkTables, foreignTexts } from '../opening/check-tables.ts'

/**
 * Checks that a database takes the tables of a shard, and that its user has the rights of one. Changes nothing. Throws one error with all
 * reasons: `LAYOUT_MISMATCH` if it has tables of another program, otherwise `SHARD_DENIED`; and the error of a shard that does not answer.
 */
export async function requireUsable(
  context: EngineContext,
  shard: Shard,
  options: CallOptions,
): Promise<void> {
  const { indexes } = mergeCatalogs(await loadShardCatalogs(context.driver, options))
  const tables = await checkTables(shard, indexes, options)
  const foreign = foreignTexts(tables, indexes)
  const refusals = await refusedWrites(context, shard, tables.missing.length > 0, options)
  // Any write of a table of another program fails.
  const isUnclear = ({ code }: LooseleafError): boolean => code !== 'SHARD_DENIED' && code !== 'NOT_MIGRATED'
  const other = refusals.find((error) => isUnclear(error) && (foreign.length === 0 || isOutage(error)))
  if (other !== undefined) throw other
  const denied = refusals.filter(({ code }) => code === 'SHARD_DENIED')
  const reasons = [...foreign.map((text) => `${text}.`), ...denied.map((error) => reasonOf(shard, error))]
  if (reasons.length === 0) return
  const list =
    reasons.length === 1
      ? reasons.join('')
      : `it cannot join, for ${reasons.length} reasons. ${reasons.map((each, i) => `${i + 1}. ${each}`).join(' ')}`
  throw new LooseleafError(
    foreign.length === 0 ? 'SHARD_DENIED' : 'LAYOUT_MISMATCH',
    [
      `Shard ${shard.name}: ${list} Nothing was changed.`,
      ...(foreign.length === 0 ? [] : ['Rename such tables, or give an empty database.']),
      ...(denied.length === 0 ? [] : ['Grant the missing privileges to the user.']),
    ].join(' '),
    { shard: shard.name, cause: denied[0] },
  )
}

/** Tries each right that a shard needs, and changes nothing. The right to create tables is not needed if none is missing. */
async function refusedWrites(
  { router }: EngineContext,
  shard: Shard,
  creates: boolean,
  options: CallOptions,
): Promise<readonly LooseleafError[]> {
  const refusals = await refusalsOfWrites(shard, router.newId(), options)
  const create = creates ? shard.tryCreateTable?.(options) : undefined
  const refusal = create && (await refusalOfWrite(create))
  return refusal === undefined ? refusals : [...refusals, refusal]
}

/** Returns the sentence of an error without the name of its shard. */
function reasonOf({ name }: Shard, { message }: LooseleafError): string {
  return message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message
}
