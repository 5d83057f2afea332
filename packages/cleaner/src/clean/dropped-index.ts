import { isLooseleafError, LooseleafError, type CallOptions } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { isInUse, type EngineContext } from '@looseleaf/index-engine/internal'

/** Returns the error to throw after a run failed: if a table is missing because its index was dropped, one that says so. */
export async function explainMissingTable(
  context: EngineContext,
  entries: readonly CatalogEntry[],
  error: unknown,
  call: CallOptions,
): Promise<unknown> {
  if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) return error
  const { indexes } = await context.catalog.reload(call)
  const dropped = entries.find(
    ({ table }) => !indexes.some((entry) => entry.table === table && isInUse(entry)),
  )
  return dropped === undefined ? error : droppedIndex(dropped.name, error)
}

export function droppedIndex(name: string, cause?: unknown): LooseleafError {
  return new LooseleafError('INDEX_NOT_FOUND', `Index ${name} was dropped while it was cleaned.`, { cause })
}
