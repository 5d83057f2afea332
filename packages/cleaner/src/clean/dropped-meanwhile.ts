import { isLooseleafError, LooseleafError, type CallOptions, type CatalogEntry } from '@looseleaf/core'
import { isInUse, type EngineContext } from '@looseleaf/index-engine'

/** A table that is missing because its index was dropped has not been lost. */
export async function orDropped(
  context: EngineContext,
  going: readonly CatalogEntry[],
  error: unknown,
  call: CallOptions,
): Promise<unknown> {
  if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) return error
  const { indexes } = await context.catalog.reload(call)
  const gone = going.find(({ table }) => !indexes.some((entry) => entry.table === table && isInUse(entry)))
  return gone === undefined ? error : droppedMeanwhile(gone.name, error)
}

export function droppedMeanwhile(name: string, cause?: unknown): LooseleafError {
  return new LooseleafError('INDEX_NOT_FOUND', `Index ${name} was dropped meanwhile.`, { cause })
}
