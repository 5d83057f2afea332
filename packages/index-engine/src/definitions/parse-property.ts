import { LooseleafError } from '@looseleaf/core'
import { describeKind, type ColumnType, type IndexedProperty } from '@looseleaf/core/internal'
import { clip, isObject, refuse } from './bad-index.ts'
import { COLUMN_TYPES, keyFunction } from './key-functions.ts'
import type { PropertyOptions, PropertyType } from './property-types.ts'

const OPTIONS: readonly string[] = ['type', 'of', 'key', 'order', 'nulls'] satisfies (keyof PropertyOptions)[]
const NULLS: readonly unknown[] = [undefined, 'first', 'last', 'skip'] satisfies PropertyOptions['nulls'][]
const ORDERS: readonly unknown[] = [undefined, 'asc', 'desc'] satisfies PropertyOptions['order'][]
const MAX_PROPERTY_NAME = 64

/** Parses a property as a program gives it: a type, or `PropertyOptions`. Throws `BAD_INDEX`. */
export function parseProperty(index: string, name: unknown, spec: unknown): IndexedProperty {
  checkPropertyName(index, name)
  if (!isObject(spec)) return { name, ...parseType(index, name, spec) }
  for (const option of Object.keys(spec)) {
    if (OPTIONS.includes(option)) continue
    throw bad(index, `${name} has no option "${clip(option)}"; there are ${OPTIONS.join(', ')}`)
  }
  const { type, many } = parseType(index, name, spec['type'])
  const { of, nulls, order } = spec
  if (of !== undefined) {
    checkPropertyName(index, of)
    if (name.includes('.')) throw bad(index, `${name} has its path in "of", so its name may not have dots`)
  }
  if (!NULLS.includes(nulls)) {
    throw bad(index, `nulls of ${name} have to be 'first', 'last' or 'skip'; got ${describe(nulls)}`)
  }
  if (!ORDERS.includes(order)) {
    throw bad(index, `the order of ${name} has to be 'asc' or 'desc'; got ${describe(order)}`)
  }
  return propertyData({
    name,
    type,
    many,
    of: of === name ? undefined : of,
    key: parseKey(index, name, type, spec['key']),
    // Catalogs omit defaults, so that an explicit default makes no other index.
    order: order === 'desc' ? order : undefined,
    nulls: nulls === 'skip' ? undefined : (nulls as IndexedProperty['nulls']),
  })
}

/** Parses a property of plain data, such as a catalog's. Throws `BAD_INDEX`. */
export function propertyFromData(index: string, property: unknown): IndexedProperty {
  if (!isObject(property)) refuse(index, 'needs objects in its list of properties', property)
  const { name, many, ...options } = property
  const type = many === true && typeof options['type'] === 'string' ? `${options['type']}[]` : options['type']
  return parseProperty(index, name, { ...options, type })
}

/** Picks the plain data of a property; omits undefined options. */
export function propertyData({ name, type, many, of, key, order, nulls }: IndexedProperty): IndexedProperty {
  return {
    name,
    type,
    many,
    ...(of !== undefined && { of }),
    ...(key !== undefined && { key }),
    ...(order !== undefined && { order }),
    ...(nulls !== undefined && { nulls }),
  }
}

/** Returns a property as a program writes it. */
export function propertySpec(property: IndexedProperty): PropertyType | PropertyOptions {
  const { name: _, type, many, ...options } = propertyData(property)
  const written: PropertyType = many ? `${type}[]` : type
  if (Object.keys(options).length === 0) return written
  // `parseKey` has checked the key.
  return Object.freeze({ type: written, ...(options as Omit<PropertyOptions, 'type'>) })
}

/** Describes a property for people, for example `initial prefix(1) of title string desc, nulls first`. */
export function propertyText({ name, type, many, of, key, order, nulls }: IndexedProperty): string {
  const source = [key, key !== undefined && 'of', (key !== undefined || of !== undefined) && (of ?? name)]
  const words = [
    name,
    key === undefined && of !== undefined && 'is',
    ...source,
    many ? `${type}[]` : type,
    order,
  ]
  return `${words.filter(Boolean).join(' ')}${nulls === undefined ? '' : `, nulls ${nulls}`}`
}

/** Tells whether two properties give the same columns of a row. */
export function sameProperty(a: IndexedProperty, b: IndexedProperty | undefined): boolean {
  return (
    a.name === b?.name &&
    a.type === b.type &&
    a.many === b.many &&
    a.of === b.of &&
    a.key === b.key &&
    a.order === b.order &&
    a.nulls === b.nulls
  )
}

export function checkPropertyName(index: string, name: unknown): asserts name is string {
  if (typeof name !== 'string' || name === '' || name.length > MAX_PROPERTY_NAME || !name.isWellFormed()) {
    refuse(index, `needs property names of 1 to ${MAX_PROPERTY_NAME} characters`, name)
  }
  const steps = name.split('.')
  if (steps.includes('')) {
    throw bad(
      index,
      `the property "${clip(name)}" has a dot without a name before or behind it; dots lead into objects, as in "author.id"`,
    )
  }
  if (name.includes('[]')) {
    throw bad(
      index,
      `the property "${clip(name)}" has [] in its name; it goes with the type of an indexed property, as in { "authors.id": "uuid[]" }, and is not needed elsewhere`,
    )
  }
  if (name === 'id' || steps.includes('__proto__')) {
    throw new LooseleafError(
      'BAD_INDEX',
      `Index ${index} cannot have the property ${name}: this name is reserved${name === 'id' ? '; entities are read by id with get' : ''}.`,
    )
  }
}

function parseType(index: string, name: string, type: unknown): Pick<IndexedProperty, 'type' | 'many'> {
  const many = typeof type === 'string' && type.endsWith('[]')
  const column = many ? type.slice(0, -2) : type
  const found = COLUMN_TYPES.find((each) => each === column)
  if (found !== undefined) return { type: found, many }
  throw bad(
    index,
    `the type of ${name} has to be 'uuid', 'string', 'integer', 'number', 'boolean' or 'time', with [] for an array of it; got ${describe(type)}`,
  )
}

function parseKey(index: string, name: string, type: ColumnType, key: unknown): string | undefined {
  if (key === undefined) return undefined
  const keyName = isObject(key) ? key['name'] : key
  const found = typeof keyName === 'string' ? keyFunction(keyName) : undefined
  if (found === undefined) {
    throw bad(
      index,
      `the key of ${name} has to be 'lower', 'lowerNfc', 'prefix(n)' for n characters up to 999, 'host', 'hash', 'hour', 'day', 'month', or what defineKey gave; got ${describe(key)}`,
    )
  }
  if (found.from !== type) {
    throw bad(index, `the key ${found.name} needs a property of type ${found.from}; ${name} has type ${type}`)
  }
  return found.name
}

function describe(got: unknown): string {
  return typeof got === 'string' ? `'${clip(got)}'` : describeKind(got)
}

function bad(index: string, problem: string): LooseleafError {
  return new LooseleafError('BAD_INDEX', `Index ${index}: ${problem}.`)
}
