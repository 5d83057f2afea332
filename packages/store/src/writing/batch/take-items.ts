import { formatId, LooseleafError, parseId, type EntityId } from '@looseleaf/core'
import {
  badArgument,
  badOption,
  checkOptions,
  copyEntity,
  describeKind,
  idKey,
  isPlainObject,
  isRecord,
  optionKinds,
  shorten,
  type OptionKinds,
} from '@looseleaf/core/internal'
import { bucketsOf, type EngineContext, type Near } from '@looseleaf/index-engine/internal'
import { optionsOf } from '../../call-options.ts'
import { freshId } from '../../calls/take-bag.ts'
import type { Edit, PutResult } from '../../types.ts'
import { toCheck, toDelete, toEdit, toInsert, toPut, toUpdate, type Decide } from '../decisions.ts'
import { itemError } from './batch-errors.ts'
import {
  prepared,
  type BatchCheck,
  type BatchDelete,
  type BatchInsert,
  type BatchItem,
  type BatchPut,
  type BatchUpdate,
  type PreparedWrite,
} from './batch-item.ts'

/** Largest number of items of a batch. */
export const MAX_ITEMS = 100
/** Largest number of names in a message, and their length together. */
const MAX_NAMES = 8
const MAX_NAMES_LENGTH = 120

/** An item that was checked and copied when the call began. */
export interface TakenItem {
  /** Name of the call that writes one such entity, for messages. */
  readonly name: string
  readonly id: Uint8Array
  /** True if the id was made for this call. */
  readonly isFresh: boolean
  /** True if the new bag depends on the bag found, so that repeating a committed batch would apply it twice. */
  readonly addsUp: boolean
  readonly decide: Decide
  /** Present for a write that a kind has prepared. */
  readonly write?: PreparedWrite<unknown> | undefined
  resultOf(result: PutResult & { readonly written: boolean }): unknown
}

const elsewhere = optionKinds.elsewhere
const { ifVersion } = optionsOf.change
const version = { expected: ifVersion.expected, fits: (value: unknown) => ifVersion.fits(value) }

const kinds = {
  insert: { insert: elsewhere, id: elsewhere } satisfies OptionKinds<BatchInsert>,
  put: { put: elsewhere, id: elsewhere, ifVersion } satisfies OptionKinds<BatchPut>,
  update: { update: elsewhere, edit: optionKinds.function, ifVersion } satisfies OptionKinds<BatchUpdate>,
  delete: { delete: elsewhere, ifVersion } satisfies OptionKinds<BatchDelete>,
  check: { check: elsewhere, ifVersion: version } satisfies OptionKinds<BatchCheck>,
}

const names = Object.keys(kinds) as (keyof typeof kinds)[]

type Unplaced = Omit<TakenItem, 'id' | 'isFresh' | 'decide'> & {
  /** Undefined for an id that the call has to make. */
  readonly id: Uint8Array | undefined
  /** Place of that id. Default: the bucket of the batch. */
  readonly near?: Near | undefined
  decideFor(id: Uint8Array): Decide
}

/**
 * Checks the items of a batch, copies their bags, and makes the missing ids. Throws before anything is sent: `BAD_OPTION` for an item that is
 * none, for more than `MAX_ITEMS`, and for an id that repeats; `FAR_APART` for an id in another bucket; the errors of `copyBag`, and
 * `BAD_ID`. Errors have the place of their `item`.
 */
export function takeItems(
  { router, catalog }: Pick<EngineContext, 'router' | 'catalog'>,
  items: readonly BatchItem[],
  near: Near | undefined,
): readonly TakenItem[] {
  if (!Array.isArray(items)) throw badArgument('batch', 'an array of items', items)
  if (items.length > MAX_ITEMS) throw badArgument('batch', `up to ${MAX_ITEMS} items`, items)
  // `map` would skip the holes of a sparse array.
  const unplaced = Array.from(items as readonly unknown[], (item, place) => {
    try {
      return takeItem(item)
    } catch (error) {
      throw itemError(place, undefined, error)
    }
  })
  const placed = unplaced.find((item) => item.id !== undefined || item.near !== undefined)
  const anchor = (near === undefined ? placed?.id : undefined) ?? freshId(router, near ?? placed?.near)
  const buckets = bucketsOf(router)
  // Without buckets, entities never move.
  const placeOf = (id: Uint8Array): number => buckets?.ofId(id) ?? catalog.current().placement.shardOfId(id)
  const seen = new Map<string, number>()
  return unplaced.map(({ decideFor, id: given, near: place, ...rest }, i) => {
    const id = given ?? (place === undefined ? router.newId(anchor) : freshId(router, place))
    const entity = formatId(id)
    const earlier = seen.get(idKey(id))
    seen.set(idKey(id), i)
    if (earlier !== undefined) {
      const problem = new LooseleafError('BAD_OPTION', `Entity ${entity} is items[${earlier}] already.`, {
        entity,
      })
      throw itemError(i, rest.name, problem)
    }
    if (placeOf(id) !== placeOf(anchor)) throw itemError(i, rest.name, farApart(entity, formatId(anchor)))
    return { ...rest, id, isFresh: given === undefined, decide: decideFor(id) }
  })
}

function takeItem(item: unknown): Unplaced {
  const write = isRecord(item)
    ? (Reflect.get(item, prepared) as PreparedWrite<unknown> | undefined)
    : undefined
  if (write !== undefined) return preparedItem(write)
  const given = isRecord(item) ? names.filter((name) => Object.hasOwn(item, name)) : []
  const [name] = given
  if (name === undefined || given.length > 1)
    throw badOption(`batch takes items with one of ${names.join(', ')}; got ${describeItem(item)}.`)
  checkOptions(`an item ${name} of batch`, item as never, kinds[name] as never)
  switch (name) {
    case 'insert': {
      const { insert, id } = item as BatchInsert
      return bagItem(name, insert, id, toInsert)
    }
    case 'put': {
      const { put, id, ifVersion: expected } = item as BatchPut
      return bagItem(name, put, id, (bytes, properties) => toPut(bytes, properties, expected))
    }
    case 'update': {
      const { update, edit, ifVersion: expected } = item as BatchUpdate
      if (typeof edit !== 'function') throw badArgument('batch', 'as edit a function from bag to bag', edit)
      const addsUp = expected === undefined
      return idItem(name, update, (id) => toUpdate(id, edit as Edit, expected), plainResult, addsUp)
    }
    case 'delete': {
      const { delete: of, ifVersion: expected } = item as BatchDelete
      return idItem(
        name,
        of,
        (id) => toDelete(id, expected),
        ({ written }) => written,
      )
    }
    case 'check': {
      const { check, ifVersion: expected } = item as BatchCheck
      if (expected === undefined) throw badArgument('batch', 'a check with ifVersion', expected)
      return idItem(
        name,
        check,
        (id) => toCheck(id, expected),
        () => undefined,
      )
    }
  }
}

/** Describes an item that is none, with its names. */
function describeItem(item: unknown): string {
  const found = isPlainObject(item) ? Object.keys(item).slice(0, MAX_NAMES).join(', ') : ''
  return found === '' ? describeKind(item) : `an object with ${shorten(found, MAX_NAMES_LENGTH)}`
}

function preparedItem(write: PreparedWrite<unknown>): Unplaced {
  const { edit, resultOf } = write.begin()
  return {
    name: write.name,
    id: write.id === undefined ? undefined : parseId(write.id),
    near: write.near,
    addsUp: write.addsUp,
    decideFor: (id) => toEdit(id, edit, write.ifVersion),
    write,
    resultOf,
  }
}

function bagItem(
  name: string,
  bag: object,
  givenId: EntityId | undefined,
  decide: (id: Uint8Array, properties: Parameters<typeof toInsert>[1]) => Decide,
): Unplaced {
  const { id: bagId, properties } = copyEntity(bag)
  const id = givenId ?? bagId
  return {
    name,
    id: id === undefined ? undefined : parseId(id),
    addsUp: false,
    decideFor: (bytes) => decide(bytes, properties),
    resultOf: plainResult,
  }
}

function idItem(
  name: string,
  id: EntityId,
  decideFor: (id: Uint8Array) => Decide,
  resultOf: Unplaced['resultOf'],
  addsUp = false,
): Unplaced {
  return { name, id: parseId(id), addsUp, decideFor, resultOf }
}

const plainResult = ({ id, version: written, created, indexed, token }: PutResult): PutResult => ({
  id,
  version: written,
  created,
  indexed,
  token,
})

function farApart(entity: EntityId, anchor: EntityId): LooseleafError {
  return new LooseleafError(
    'FAR_APART',
    `Entity ${entity} is not in the bucket of ${anchor}, and one transaction holds entities of one bucket only. Make its id with \`store.newId({ near })\` or \`deriveId(…, { near })\`, or write it by a call of its own.`,
    { entity },
  )
}
