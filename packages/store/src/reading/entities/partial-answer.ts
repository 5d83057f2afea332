import type { Entity, EntityId } from '@looseleaf/core'
import type { OnUnavailable } from '@looseleaf/index-engine/internal'

/** The completeness of an answer with `onUnavailable: 'skip'`. */
export interface PartialAnswer {
  /**
   * False if the answer may lack an entity: a shard did not answer, or, of a count, one of the other reasons of `cost.complete` of a page
   * applies.
   */
  readonly complete: boolean
  /** The names of shards whose data was left out because they did not answer. */
  readonly missingShards: readonly string[]
}

/** The answer of `getMany` with `onUnavailable: 'skip'`. */
export interface PartialEntities<T = Entity> extends PartialAnswer {
  /** In the order of the ids; undefined for an id without an entity, and for each of `unread`. */
  readonly items: readonly (T | undefined)[]
  /** The ids on missing shards, in lower case. It is unknown whether they have entities. */
  readonly unread: readonly EntityId[]
}

/** The answer of `count` with `onUnavailable: 'skip'`. */
export interface PartialCount extends PartialAnswer {
  /** Number of matching entities without those whose index rows or bodies are on missing shards. */
  readonly count: number
}

/** The type of an answer by the `onUnavailable` of its call. */
export type AnswerOf<Handling extends OnUnavailable | undefined, Whole, Partial> = Handling extends 'skip'
  ? Partial
  : Whole
