import { LooseleafError, type Bag, type IndexPredicate } from '@looseleaf/core'
import { isObject, refuse } from './bad-index.ts'
import { checkPropertyName } from './parse-property.ts'
import { propertyValue } from './property-value.ts'

const MAX_PROPERTIES = 4
const MAX_STRING = 256

/** The predicate of a partial index, from what a program or a catalog says. Throws `BAD_INDEX`. */
export function parsePredicate(index: string, on: unknown): IndexPredicate {
  if (!isObject(on)) refuse(index, `needs on to be properties and values such as { kind: 'issue' }`, on)
  const names = Object.keys(on)
  if (names.length < 1 || names.length > MAX_PROPERTIES) {
    throw new LooseleafError(
      'BAD_INDEX',
      `Index ${index} needs 1 to ${MAX_PROPERTIES} properties in on; got ${names.length}.`,
    )
  }
  const values = names.map((name) => {
    checkPropertyName(index, name)
    return [name, parseValue(index, name, on[name])] as const
  })
  return Object.freeze(Object.fromEntries(values))
}

/** Whether bags have these values; all have none. */
export function predicateOf(on: IndexPredicate = {}): (bag: Bag) => boolean {
  const values = Object.entries(on)
  return (bag) => values.every(([name, value]) => propertyValue(bag, name) === value)
}

/** The order in which properties were written says nothing. */
export function samePredicate(a: IndexPredicate = {}, b: IndexPredicate = {}): boolean {
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && a[name] === b[name])
  )
}

/** A predicate in words, such as `kind = "issue" and open = true`. */
export function predicateText(on: IndexPredicate): string {
  return Object.entries(on)
    .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
    .toSorted()
    .join(' and ')
}

function parseValue(index: string, name: string, value: unknown): IndexPredicate[string] {
  if (typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value === 'string' && value.length <= MAX_STRING && value.isWellFormed()) return value
  return refuse(
    index,
    `needs a boolean, a finite number or a well-formed string of up to ${MAX_STRING} characters for ${name} in on`,
    value,
  )
}
