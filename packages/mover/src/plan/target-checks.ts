import { isLooseleafError, LooseleafError, type CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from '@looseleaf/protocol/internal'

/**
 * Tells why a shard would refuse copies: a missing right, a read-only server. Asks it to delete an entity that does not exist, so nothing
 * changes. A full disk is not found.
 */
export async function refusalOf(
  context: EngineContext,
  number: number,
  options: CallOptions,
): Promise<LooseleafError | undefined> {
  const { entities } = shardAt(context, number)
  const epoch = context.catalog.current().epochs[number] ?? 0
  const error = await refusalOfWrite(entities.discard([context.router.newId()], { ...options, epoch }))
  return (
    error &&
    new LooseleafError(error.code, `Shard ${number} would refuse the copies: ${error.message}`, {
      shard: error.shard,
      cause: error,
    })
  )
}

/** Returns the error of a write that changes nothing, as one of another epoch; undefined if the shard would do a write of its epoch. */
export async function refusalOfWrite(write: Promise<unknown>): Promise<LooseleafError | undefined> {
  try {
    await write
    return undefined
  } catch (error) {
    if (!isLooseleafError(error) || error.code === 'ABORTED' || error.code === 'CLOSED') throw error
    // The shard has compared the epochs.
    return error.code === 'STALE_EPOCH' ? undefined : error
  }
}

/** Describes settings of a shard that endanger what it would get. */
export async function settingsOf(
  context: EngineContext,
  number: number,
  options: CallOptions,
): Promise<readonly string[]> {
  const warnings = await shardAt(context, number).warnings(options)
  return warnings.map((warning) => `Shard ${number}: ${warning}`)
}
