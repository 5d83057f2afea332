import { LooseleafError } from '@looseleaf/core'
import type { IndexProperties, QueryOptions, QueryPage } from '@looseleaf/index-engine'
import {
  isStandIn,
  type EngineContext,
  type QueryPlan,
  type ServingEntry,
} from '@looseleaf/index-engine/internal'
import type { ReadView } from '../freshness/replica-reads.ts'
import { coveredReader } from '../rows/covered-reader.ts'
import type { ListCost } from '../rows/list-cost.ts'
import { partReader } from '../rows/part-reader.ts'
import type { RowReaderFrom } from '../rows/row-reader.ts'

export interface ListOptions extends QueryOptions {
  /**
   * Compares each row with the version of its entity, and reads the entity where they differ, so that every item is committed. If
   * false, an item may have been replaced, or be of a write that is never committed. Default: true.
   */
  readonly verify?: boolean | undefined
}

/** A page of a list. Its items have the properties of the index, of its `on` and of its `include`, each under its path. */
export interface ListPage<P extends IndexProperties = IndexProperties> extends QueryPage<P> {
  readonly cost: ListCost
  /** True if each item was committed when it was read. */
  readonly verified: boolean
}

export interface ListReading {
  readonly rows: (plan: QueryPlan) => RowReaderFrom
  readonly isVerified: boolean
}

/**
 * Chooses how a list reads. The rows of a stand-in include other properties, so its entities are read. Throws `BAD_QUERY` if the index
 * includes no properties.
 */
export function listOf(
  context: EngineContext,
  view: ReadView,
  entry: ServingEntry,
  verify: boolean,
): ListReading {
  const listed = entry.standsFor ?? entry
  if (listed.include === undefined) {
    throw new LooseleafError(
      'BAD_QUERY',
      `Index ${entry.name} includes no properties, so it cannot list them: add \`include\` to its definition, or use \`query\`.`,
    )
  }
  return isStandIn(entry)
    ? { rows: () => partReader(listed), isVerified: true }
    : { rows: (plan) => coveredReader(context, view, { entry, plan, verify }), isVerified: verify }
}
