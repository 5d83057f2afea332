import { parseId } from '@looseleaf/core'
import { placeOfNear, type Near } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { GROUPS, TAGS } from '../indexes.ts'

/** Entities of one bucket, and the values whose index rows are on their shard. */
export interface NearEntities {
  readonly ids: ReadonlySet<string>
  readonly groups: readonly string[]
  readonly tags: readonly string[]
}

export function nearEntities({ context }: DataStore, ids: readonly string[]): NearEntities {
  const [first] = ids
  if (first === undefined) return { ids: new Set(), groups: [], tags: [] }
  const { placement } = context.catalog.current()
  const { readOfId: ofId, readOfKey: ofKey } = placement.rows
  const shard = placement.shardOfId(parseId(first))
  const isHere = (near: Near): boolean => placeOfNear(near, { ofId, ofKey }) === shard
  return {
    ids: new Set(ids),
    groups: GROUPS.filter((string) => isHere({ string })),
    tags: TAGS.filter((string) => isHere({ string })),
  }
}
