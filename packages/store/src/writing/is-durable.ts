import { isUndone } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { movedOrUndone, type VersionsOptions } from '@looseleaf/protocol/internal'

/** Returns true if one of these entities has this version before and after a flush. A version that can be read may not be on disk yet. */
export async function isDurable(
  context: EngineContext,
  version: number,
  ids: readonly Uint8Array[],
  options: VersionsOptions,
): Promise<boolean> {
  try {
    const entities = ids.map((id) => ({ id, version }))
    return (await movedOrUndone(context, entities, options)).length < ids.length
  } catch (error) {
    if (isUndone(error)) return false
    throw error
  }
}
