import { LooseleafError, type Bag, type EntityId } from '@looseleaf/core'
import { checkOptions, optionKinds, type OptionKinds } from '@looseleaf/core/internal'
import { unchanged, type BatchWrite } from '@looseleaf/store'
import { prepared, type BegunWrite, type PreparedWrite } from '@looseleaf/store/internal'
import type { CheckedPatch, Edited } from './checked-patch.ts'
import type { Expiry } from './expiry.ts'
import type { KindNear } from './near.ts'
import { parseUpdate } from './patch.ts'
import { parseReference, parseValue, type Reference } from './reference.ts'
import type { Item, Shape } from './shape.ts'

/**
 * The writes of one kind for `store.batch`, which writes entities of several kinds together, or none. Each call checks its arguments, and
 * sends nothing. Its result, such as an item, is the result of `batch` at its place.
 */
export interface BatchWrites<In, Out> {
  /** Inserts a new entity. Without an id it gets one in the bucket of the batch, or where `near` of the kind places it. */
  insert(value: In & { readonly id?: EntityId }, options?: BatchWriteOptions): BatchWrite<Item<Out>>
  /** Replaces an entity as a whole, or inserts it. A value with a version has to match the stored version. */
  put(
    value: In & { readonly id?: EntityId; readonly version?: number | string },
    options?: BatchWriteOptions,
  ): BatchWrite<Item<Out>>
  /** Changes properties of an entity. A reference with a version has to match the stored version. */
  update<R extends Edited<Out> = Edited<Out>>(
    of: Reference,
    patch: CheckedPatch<Out, R>,
  ): BatchWrite<Item<Out>>
  /**
   * Deletes an entity. The result tells whether it existed. A reference with a version has to match the stored version: the batch rejects with
   * `VERSION_MISMATCH` if the entity was written, or deleted, since.
   */
  delete(of: Reference): BatchWrite<boolean>
  /** Writes nothing, and returns the item. The batch takes place only if the entity exists at its commit, at the version of the reference. */
  check(of: Reference): BatchWrite<Item<Out>>
}

export interface BatchWriteOptions {
  /** Default: the id of the value, or a new one. */
  readonly id?: EntityId | undefined
}

/** The parts of a collection that its writes for batches need. */
interface WriteParts {
  readonly shape: Shape
  readonly near: KindNear | undefined
  readonly expiry: Pick<Expiry, 'isVisible' | 'removesExpired'>
  requireUnique(): Promise<void> | undefined
  notFound(entity: EntityId): LooseleafError
  itemOfBag(bag: Bag, id: EntityId, version: number): Item<object>
}

const NEW: OptionKinds<BatchWriteOptions> = { id: optionKinds.elsewhere }

type Target = Pick<PreparedWrite<unknown>, 'name' | 'id' | 'near' | 'ifVersion' | 'addsUp'>

export function createBatchWrites(parts: WriteParts): BatchWrites<object, object> {
  const { shape, near, expiry, requireUnique, notFound, itemOfBag } = parts
  const { isVisible } = expiry

  function prepare<Result>(target: Target, begin: () => BegunWrite<Result>): BatchWrite<Result> {
    return {
      [prepared]: {
        ...target,
        begin,
        ready: requireUnique,
        removesObstacle: (error, signal) => expiry.removesExpired(error, signal),
      },
    }
  }

  /** Prepares a write whose result is the item. An edit that keeps the entity returns `unchanged`. */
  function prepareItem(
    target: Target,
    edit: (bag: Bag | undefined, id: EntityId) => Bag | typeof unchanged,
  ): BatchWrite<Item<object>> {
    return prepare(target, () => {
      let last: Bag = {}
      return {
        edit(bag, id) {
          const edited = edit(bag, id)
          last = edited === unchanged ? (bag as Bag) : edited
          return edited
        },
        resultOf: ({ id, version }) => itemOfBag(last, id, version),
      }
    })
  }

  /** Returns the bag of an entity of this kind that this program knows. */
  function known(bag: Bag | undefined, id: EntityId): Bag {
    if (bag === undefined || !isVisible(bag)) throw notFound(id)
    shape.requireKnown(bag, id)
    return bag
  }

  /** Throws unless there is no entity, or an expired one of the kind, which the write replaces. */
  function requireFree(bag: Bag | undefined, entity: EntityId): void {
    if (bag === undefined || (shape.isOf(bag) && !isVisible(bag))) return
    throw new LooseleafError('ALREADY_EXISTS', `There is an entity ${entity} already.`, { entity })
  }

  function goneAt(version: number, entity: EntityId): LooseleafError {
    return new LooseleafError(
      'VERSION_MISMATCH',
      `There is no ${shape.name} ${entity} at version ${version} any more.`,
      { entity },
    )
  }

  function prepareNew(name: string, bag: Bag, id: EntityId | undefined): BatchWrite<Item<object>> {
    const place = id === undefined ? near?.placeOf(bag) : undefined
    return prepareItem({ name, id, near: place, ifVersion: undefined, addsUp: false }, (stored, entity) => {
      requireFree(stored, entity)
      return bag
    })
  }

  return {
    insert(value, options = {}) {
      checkOptions('insert', options, NEW)
      const { id, version, properties } = parseValue('insert', value, options.id)
      const bag = shape.toBag(properties, { mayBeOutput: version !== undefined })(undefined)
      return prepareNew('insert', bag, id)
    },
    put(value, options = {}) {
      checkOptions('put', options, NEW)
      const { id, version, properties } = parseValue('put', value, options.id)
      const toBag = shape.toBag(properties, { entity: id, mayBeOutput: version !== undefined })
      if (id === undefined) return prepareNew('put', toBag(undefined), id)
      const target = { name: 'put', id, near: undefined, ifVersion: version, addsUp: false }
      return prepareItem(target, (bag, entity) => {
        if (version !== undefined || (bag !== undefined && isVisible(bag))) return toBag(known(bag, entity))
        requireFree(bag, entity)
        return toBag(undefined)
      })
    },
    update(of, patch) {
      const { id, ifVersion, edit } = parseUpdate(of, patch, shape)
      const target = { name: 'update', id, near: undefined, ifVersion, addsUp: ifVersion === undefined }
      return prepareItem(target, (bag, entity) => edit(known(bag, entity)))
    },
    delete(of) {
      const { id, version: ifVersion } = parseReference('delete', of)
      return prepare({ name: 'delete', id, near: undefined, ifVersion, addsUp: false }, () => ({
        edit(bag, entity) {
          if (bag !== undefined && isVisible(bag)) return null
          // Another writer may have deleted it, together with the other writes of its batch. They must not be repeated.
          if (ifVersion !== undefined) throw goneAt(ifVersion, entity)
          return unchanged
        },
        resultOf: ({ written }) => written,
      }))
    },
    check(of) {
      const { id, version: ifVersion } = parseReference('check', of)
      const target = { name: 'check', id, near: undefined, ifVersion, addsUp: false }
      return prepareItem(target, (bag, entity) => {
        known(bag, entity)
        return unchanged
      })
    },
  }
}
