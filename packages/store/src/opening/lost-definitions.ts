import type { CallOptions, CodecDefinitions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { rowsBy } from './check-codec.ts'

/** Bodies of a shard that are looked at, those that were written last, and bytes of each at the most. */
const ROWS = 100
const MAX_BODY = 16 * 1024

/**
 * A sentence where bodies refer to definitions and no shard has any: `looseleaf_codec` was emptied, or restored without. Undefined
 * where nothing speaks for that. The catalog alone does not say it: a process announces its first definition some seconds before it
 * stores it, and may end in between. For a process that has just opened the store; what it knows already it can read.
 */
export async function lostDefinitions(
  { driver, codec, catalog }: Pick<EngineContext, 'driver' | 'codec' | 'catalog'>,
  options?: CallOptions,
): Promise<string | undefined> {
  if (!catalog.current().hasDefinitions || !('definitions' in codec)) return undefined
  const definitions = codec.definitions as CodecDefinitions
  if (definitions.known().length > 0) return undefined
  const pages = await Promise.all(
    driver.shards.map(({ entities }) =>
      rowsBy(() => entities.pageByUpdated({ since: 0 }, ROWS, { ...options, maxBody: MAX_BODY })),
    ),
  )
  const bodies = pages.flat().flatMap(({ body }) => body ?? [])
  const lost = bodies.filter((body) => definitions.missing(body).length > 0).length
  if (lost === 0) return undefined
  return `${lost} of the ${bodies.length} bodies that were looked at refer to shapes or dictionaries, and no shard that answers has any: looseleaf_codec was emptied, or not restored. Put its rows back, from a backup of any shard; until then such bodies are BODY_UNKNOWN.`
}
