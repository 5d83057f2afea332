import type { Entity } from '@looseleaf/core'
import {
  badOption,
  hasMethods,
  isRecord,
  KIND_PROPERTY,
  type EntityRow,
  type OptionKind,
} from '@looseleaf/core/internal'
import { isPending, mayBeOfKinds } from '@looseleaf/index-engine/internal'
import type { AnyStore } from '@looseleaf/protocol/internal'
import { changedEntity, type ChangedEntity } from './changed-entity.ts'

/** A kind whose changes a consumer handles, as `defineKind` of `@looseleaf/kinds` returns it. */
export interface ConsumedKind<Item extends object = object> {
  readonly name: string
  readonly shape: { readonly names: readonly string[] }
  in(store: never): { itemOf(entity: Entity): Item | undefined }
}

type ItemOf<Kind> = Kind extends ConsumedKind<infer Item> ? Item : never

/**
 * The latest state of an entity of a consumer's kinds after one or more writes, or a deletion. The name of the kind tells which type the item has.
 */
export type ChangedItem<Kind extends ConsumedKind = ConsumedKind> =
  | (Kind extends ConsumedKind ? ChangeOf<Kind['name'], ItemOf<Kind>> : never)
  | ChangeOf<undefined, never>

interface ChangeOf<Name extends string | undefined, Item> extends Omit<ChangedEntity, 'entity'> {
  /**
   * Name of the kind, also if the item has expired. Undefined for a deletion, because a tombstone has no kind, and for an entity that got
   * another kind while its change failed.
   */
  readonly kind: Name
  /**
   * The item as a read of the kind returns it, with upgrades and defaults. Undefined if `kind` is, and if the item has expired. A deletion may be of
   * an entity of any kind.
   */
  readonly item: Item | undefined
}

/** A change in the form that the handler of a consumer gets. */
export type Change = ChangedEntity | ChangedItem

/** Makes the changes of a consumer from the rows of a shard. */
export interface ChangeReader {
  /** Tells whether the consumer may want the entity of a row. Decodes no body whose codec can tell its kind. */
  mayBeWanted(row: EntityRow, shard: string): boolean
  /**
   * Decodes a row. Returns undefined for an entity of a kind that the consumer does not want; if its change `isFailing`, the handler has seen an
   * earlier state, and gets it as a deletion. Throws, or rejects, if the body is damaged or does not fit its kind. Returns a promise only if codec
   * entries have to be loaded.
   */
  read(
    row: EntityRow,
    shard: string,
    attempt: number,
    isFailing: boolean,
  ): Change | undefined | Promise<Change | undefined>
}

export function createChangeReader(
  store: AnyStore,
  kinds: readonly ConsumedKind[] | undefined,
): ChangeReader {
  const { context } = store
  if (kinds === undefined) {
    return {
      mayBeWanted: () => true,
      read: (row, shard, attempt) => changedEntity(context, row, shard, attempt),
    }
  }
  const collections = new Map(
    kinds.flatMap((kind) => {
      // The collection checks that the store is a `DataStore`.
      const { itemOf } = kind.in(store as never)
      return kind.shape.names.map((stored) => [stored, { kind: kind.name, itemOf }] as const)
    }),
  )
  const names = new Set(collections.keys())

  function toItem({ entity, ...change }: ChangedEntity, isFailing: boolean): ChangedItem | undefined {
    const collection = entity && collections.get(entity[KIND_PROPERTY] as string)
    if (entity !== undefined && collection !== undefined)
      return { ...change, kind: collection.kind, item: collection.itemOf(entity) }
    return entity === undefined || isFailing ? { ...change, kind: undefined, item: undefined } : undefined
  }

  return {
    mayBeWanted: (row, shard) => mayBeOfKinds(context, row, shard, names),
    read(row, shard, attempt, isFailing) {
      const read = changedEntity(context, row, shard, attempt)
      return isPending(read) ? read.then((change) => toItem(change, isFailing)) : toItem(read, isFailing)
    },
  }
}

export const kindsOption: OptionKind = {
  expected: 'one or more kinds that defineKind returns, each once',
  fits(value) {
    if (!Array.isArray(value) || value.length === 0 || !value.every(isKind)) return false
    const names = value.flatMap(({ shape }) => shape.names)
    return new Set(names).size === names.length
  },
}

function isKind(value: unknown): value is ConsumedKind {
  if (!isRecord(value) || !hasMethods(value, ['in'])) return false
  const { name, shape } = value as Record<string, unknown>
  return typeof name === 'string' && isRecord(shape) && Array.isArray(shape['names'])
}

/**
 * Throws `BAD_OPTION` if a known consumer is started with other kinds than it was registered with. The names are those of the registration;
 * undefined stands for all entities. A former name of a kind counts as the kind.
 */
export function requireKinds(
  consumer: string,
  registered: readonly string[] | undefined,
  kinds: readonly ConsumedKind[] | undefined,
): void {
  const isNamed = ({ shape }: ConsumedKind): boolean => shape.names.some((name) => registered?.includes(name))
  const isGiven = (name: string): boolean => kinds?.some(({ shape }) => shape.names.includes(name)) === true
  if ((registered ?? []).every(isGiven) && (kinds ?? []).every(isNamed)) return
  const textOf = (names: readonly string[] | undefined): string =>
    names === undefined ? 'entities of all kinds' : `entities of the kinds ${names.join(', ')}`
  throw badOption(
    `The consumer ${consumer} is registered for ${textOf(registered)}, and was started for ${textOf(kinds?.map(({ name }) => name))}. A consumer keeps its kinds, because it has passed the changes of others. Use another name, or drop this consumer first.`,
  )
}
