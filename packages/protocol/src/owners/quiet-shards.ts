import type { PlacedCatalog } from '@looseleaf/index-engine/internal'
import type { ShardLooks } from './shard-looks.ts'

/** Tells whether a move from or to the shard is announced. */
export function isMoving({ layout }: PlacedCatalog, shard: number): boolean {
  return layout?.moves !== undefined && layout.moves.some(({ from, to }) => from === shard || to === shard)
}

/**
 * Tells whether the shard owns the same buckets now as by this catalog, by the last look at it. A move waits for some seconds after it was
 * announced, before the first bucket changes its owner.
 */
export function isQuiet({ last }: Pick<ShardLooks, 'last'>, catalog: PlacedCatalog, shard: number): boolean {
  return (
    last !== undefined && last.epoch === catalog.epochs[shard] && !isMoving(catalog, shard) && !last.isOld()
  )
}
