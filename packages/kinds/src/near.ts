import { LooseleafError, type Bag } from '@looseleaf/core'
import { badOption, badArgument, isRecord, type ColumnType } from '@looseleaf/core/internal'
import type { IndexDefinition, NearKey } from '@looseleaf/index-engine'
import { definitionFromData, nearKeyOf, type PlacingProperty } from '@looseleaf/index-engine/internal'
import type { NearOption } from './checked-near.ts'

/** The property of a kind whose bucket its fresh ids get. */
export interface KindNear {
  /** The path of the property in bags. */
  readonly path: string
  /** The type under which its rows stand in indexes. */
  readonly type: ColumnType
  /** Returns the place of a bag. Throws `BAD_PROPERTY` if the property is missing or has another type. */
  placeOf(bag: Bag): NearKey
  /** Like `placeOf`, but returns undefined in place of an error. */
  placeIfAny(bag: Bag): NearKey | undefined
}

const TYPES: readonly ColumnType[] = ['uuid', 'string', 'integer', 'number', 'boolean', 'time']

/**
 * Prepares the option `near` of a kind. A path alone has the type and the key function of the kind's indexes with this property as their
 * `shardOn`, and is a uuid without such an index. Throws `BAD_OPTION` if indexes contradict each other, or the given type.
 */
export function kindNear(kind: string, near: NearOption, indexes: readonly IndexDefinition[]): KindNear {
  const { path, type: given } = parseNear(kind, near)
  const property = placingProperty(kind, path, given, indexes)
  const keyOf = (bag: Bag): ReturnType<typeof nearKeyOf> => nearKeyOf(property, bag)
  return {
    path,
    type: property.type,
    placeOf(bag) {
      const key = keyOf(bag)
      if (key === undefined)
        throw noPlace(kind, path, `has none of it. Give it a value, or give the entity an id`)
      if ('misfit' in key) throw noPlace(kind, path, `has another type there: ${key.misfit}`)
      return key
    },
    placeIfAny(bag) {
      const key = keyOf(bag)
      return key === undefined || 'misfit' in key ? undefined : key
    },
  }
}

/** Returns the definition with `near` if the rows of the index stand by the property of `near`. */
export function withNear(definition: IndexDefinition, { path, type }: KindNear): IndexDefinition {
  const { properties, shardOn } = definition
  const placing = properties.find((each) => each.name === shardOn)
  const { name, of = name } = placing ?? {}
  const isNear = of === path && placing?.type === type && !placing.many
  return isNear ? definitionFromData({ ...definition, near: true }) : definition
}

function parseNear(
  kind: string,
  near: unknown,
): { readonly path: string; readonly type: ColumnType | undefined } {
  if (typeof near === 'string' && near !== '') return { path: near, type: undefined }
  const [entry, ...others] = isRecord(near) ? Object.entries(near) : []
  const [path, name] = entry ?? []
  const type = TYPES.find((each) => each === name)
  if (path !== undefined && path !== '' && others.length === 0 && type !== undefined) return { path, type }
  throw badArgument(
    `defineKind('${kind}')`,
    `near as the path of a property, or with its type as in { tenant: 'string' } (${TYPES.join(', ')})`,
    near,
  )
}

function placingProperty(
  kind: string,
  path: string,
  given: ColumnType | undefined,
  indexes: readonly IndexDefinition[],
): PlacingProperty {
  const candidates = new Map<string, PlacingProperty>()
  for (const { properties, shardOn } of indexes) {
    const { name, of = name, type, key, many } = properties.find((each) => each.name === shardOn) ?? {}
    if (of === path && name !== undefined && type !== undefined && !many)
      candidates.set(`${type} ${key}`, { name: path, type, key })
  }
  const [first, ...others] = candidates.values()
  if (given === undefined) {
    if (others.length === 0) return first ?? { name: path, type: 'uuid' }
    throw disagree(
      kind,
      path,
      `The rows of its indexes stand by ${path} in different forms; write near as { ${path}: '${first!.type}' } to choose one`,
    )
  }
  const chosen = candidates.get(`${given} undefined`)
  if (first === undefined || chosen !== undefined) return chosen ?? { name: path, type: given }
  throw disagree(
    kind,
    path,
    `An index has it as ${first.key === undefined ? first.type : `the key ${first.key} of the type ${first.type}`}, so its rows would be elsewhere`,
  )
}

function disagree(kind: string, path: string, reason: string): LooseleafError {
  return badOption(`defineKind('${kind}') cannot place entities near ${path}. ${reason}.`)
}

function noPlace(kind: string, path: string, reason: string): LooseleafError {
  return new LooseleafError(
    'BAD_PROPERTY',
    `An entity of the kind ${kind} is placed near its property ${path}, and this value ${reason}.`,
  )
}
