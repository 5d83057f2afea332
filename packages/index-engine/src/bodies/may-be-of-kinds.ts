import { KIND_PROPERTY, type EntityRow } from '@looseleaf/core/internal'
import type { EngineContext } from '../engine-context.ts'
import { isPending } from './bodies.ts'

/** Names of kinds, with the former ones. */
export type KindNames = ReadonlySet<string>

/**
 * Tells whether the entity of a row may be of one of these kinds, without decoding it if the codec can tell. True also for a tombstone, which has no
 * kind, and for a body that cannot be read or refers to codec entries that this process lacks: its reader reports that.
 */
export function mayBeOfKinds(
  { codec, bodies }: Pick<EngineContext, 'codec' | 'bodies'>,
  { body }: Pick<EntityRow, 'body'>,
  shard: string,
  kinds: KindNames,
): boolean {
  if (body === null) return true
  try {
    if (codec.kindOf !== undefined) return isOneOf(codec.kindOf(body), kinds)
    const bag = bodies.decode(body, shard)
    if (!isPending(bag)) return isOneOf(bag[KIND_PROPERTY], kinds)
    bag.catch(() => {})
    return true
  } catch {
    return true
  }
}

/** Tells whether a value of `_kind` is one of these names. */
export function isOneOf(kind: unknown, kinds: KindNames): boolean {
  return typeof kind === 'string' && kinds.has(kind)
}
