import type { Inlined } from '@looseleaf/core/internal'
import type { QueryCost } from '@looseleaf/index-engine/internal'

export type ListCost = Inlined<
  QueryCost & {
    /** Items taken from index rows alone. With `verify` they count in `entitiesRead` too, since their versions were read. */
    readonly entitiesCovered: number
  }
>
