import type { Bag, CallOptions, EntityId } from '@looseleaf/core'
import type { NearKey } from '@looseleaf/index-engine'
import type { Edit, PutResult } from '../../types.ts'
import type { AnyEdit } from '../decisions.ts'

/** Inserts an entity, as `insert` does. */
export interface BatchInsert {
  readonly insert: object
  /** Overrides an `id` in the bag. Default: a fresh id in the bucket of the batch. */
  readonly id?: EntityId | undefined
}

/** Puts an entity, as `put` does. */
export interface BatchPut {
  readonly put: object
  /** Overrides an `id` in the bag. Default: a fresh id in the bucket of the batch. */
  readonly id?: EntityId | undefined
  /** Writes only if the entity has this version; 0 only if there is no entity. An explicit undefined is rejected. */
  readonly ifVersion?: number
}

/** Edits an entity, as `update` does. */
export interface BatchUpdate<B extends object = Bag> {
  readonly update: EntityId
  readonly edit: Edit<B>
  /** Writes only if the entity has this version. An explicit undefined is rejected. */
  readonly ifVersion?: number
}

/** Deletes an entity, as `delete` does. */
export interface BatchDelete {
  readonly delete: EntityId
  /** Deletes only if the entity has this version. An explicit undefined is rejected. */
  readonly ifVersion?: number
}

/** Writes nothing. The batch takes place only if this entity has the version at the commit. */
export interface BatchCheck {
  readonly check: EntityId
  /** A version; 0 if there must be no entity. */
  readonly ifVersion: number
}

/** A write that a collection of a kind has made for `batch`, with the type of its result. */
export interface BatchWrite<Result> {
  readonly [prepared]: PreparedWrite<Result>
}

/** An item of `batch`. */
export type BatchItem = BatchInsert | BatchPut | BatchUpdate | BatchDelete | BatchCheck | BatchWrite<unknown>

/** The result of an item: that of the call with its name, and undefined for a check. */
export type BatchResult<Item> =
  Item extends BatchWrite<infer Result>
    ? Result
    : Item extends { readonly delete: unknown }
      ? boolean
      : Item extends { readonly check: unknown }
        ? undefined
        : PutResult

/** The results of a batch, in the order of its items. */
export type BatchResults<Items extends readonly BatchItem[]> = {
  -readonly [Place in keyof Items]: BatchResult<Items[Place]>
}

export interface BatchOptions extends CallOptions {
  /** An id or a key in whose bucket all entities of the batch are, see `newId`. Default: the first id that an item has. */
  readonly near?: EntityId | NearKey | undefined
}

/** The property with the content of a `BatchWrite`. Every copy of the package has the same symbol. */
export const prepared: unique symbol = Symbol.for('looseleaf.batchWrite')

/** A prepared write in one batch. */
export interface BegunWrite<Result> {
  /** Called once per attempt. */
  readonly edit: AnyEdit
  /** Returns the result of the item. */
  resultOf(result: PutResult & { readonly written: boolean }): Result
}

/** The content of a `BatchWrite`. */
export interface PreparedWrite<Result> {
  /** Name of the call, for messages. */
  readonly name: string
  /** Default: a fresh id near `near`, or else in the bucket of the batch. */
  readonly id: EntityId | undefined
  readonly near: EntityId | NearKey | undefined
  readonly ifVersion: number | undefined
  /** True if the edit depends on the bag found, so that repeating a committed batch would apply it twice. */
  readonly addsUp: boolean
  /** Called before the batch begins. Rejects if the write must not be made. */
  ready(): Promise<void> | undefined
  /** Begins the write for one batch. Several batches may share a prepared write. */
  begin(): BegunWrite<Result>
  /** Tells whether the batch may be retried, because the obstacle of this error was removed. */
  removesObstacle(error: unknown, signal: AbortSignal | undefined): Promise<boolean>
}
