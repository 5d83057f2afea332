import type { QueryCost } from '@looseleaf/index-engine/internal'

export interface ListCost extends QueryCost {
  /** Items taken from index rows alone. With `verify` they count in `entitiesRead` too, since their versions were read. */
  readonly entitiesCovered: number
}
