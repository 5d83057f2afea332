import { LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import { isOfShard } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from '@looseleaf/protocol/internal'

/** No shard has this epoch, so a write with it changes nothing. */
const NO_EPOCH = 0

/** Tells why a shard would refuse copies: a missing right, a read-only server. Changes nothing. A full disk is not found. */
export async function refusalOf(
  context: EngineContext,
  number: number,
  options: CallOptions,
): Promise<LooseleafError | undefined> {
  const [error] = await refusalsOfWrites(shardAt(context, number), context.router.newId(), options)
  return (
    error &&
    new LooseleafError(error.code, `Shard ${number} would refuse the copies: ${error.message}`, {
      shard: error.shard,
      cause: error,
    })
  )
}

/** Tries each kind of write of an entity, with an epoch that the shard does not have. Returns the errors of those that it would not do. */
export async function refusalsOfWrites(
  { entities }: Shard,
  id: Uint8Array,
  options: CallOptions,
): Promise<readonly LooseleafError[]> {
  const row = { id, version: 1, body: new Uint8Array(1) }
  const call = { ...options, epoch: NO_EPOCH }
  const refusals = await Promise.all(
    [
      entities.insert([row], call),
      entities.replace([{ ...row, base: 1, version: 2 }], call),
      entities.discard([id], call),
    ].map(refusalOfWrite),
  )
  return refusals.filter((error) => error !== undefined)
}

/** Returns the error of a write that changes nothing, as one of another epoch; undefined if the shard would do one of its epoch. */
export async function refusalOfWrite(write: Promise<unknown>): Promise<LooseleafError | undefined> {
  try {
    await write
    return undefined
  } catch (error) {
    if (!isOfShard(error)) throw error
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
