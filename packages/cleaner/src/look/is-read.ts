import { shardOfRow } from '@looseleaf/index-engine/internal'
import type { Pass } from '../pass/pass.ts'
import type { MissingRow } from './inspect.ts'

/** Tells whether queries and writers rely on a row where it is missing: on the other shard of a move it waits for the mover. */
export function isRead({ context }: Pass, { entity, target: { entry }, row }: MissingRow): boolean {
  return shardOfRow(entry, context.catalog.current().placement, row.key, entity.id) === row.shard
}
