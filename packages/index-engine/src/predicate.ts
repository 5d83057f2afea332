import { LooseleafError, type Bag, type IndexPredicate, type PredicateValue } from '@looseleaf/core'
import { isObject, refuse } from './bad-index.ts'
import { checkPropertyName } from './parse-property.ts'
import { propertyValue } from './property-value.ts'

const MAX_PROPERTIES = 4
const MAX_VALUES = 16
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
    return [name, parseValues(index, name, on[name])] as const
  })
  return Object.freeze(Object.fromEntries(values))
}

/** Whether bags have these values; all have none. */
export function predicateOf(on: IndexPredicate = {}): (bag: Bag) => boolean {
  const tests = Object.entries(on).map(([name, value]) => ({ name, fits: fitting(value) }))
  return (bag) => tests.every(({ name, fits }) => fits(propertyValue(bag, name)))
}

function fitting(value: IndexPredicate[string]): (found: unknown) => boolean {
  const values: readonly unknown[] = valuesIn(value)
  return values.length === 1 ? (found) => found === values[0] : (found) => values.includes(found)
}

/** The values of which a property has to have one. */
export function valuesIn(value: IndexPredicate[string]): readonly PredicateValue[] {
  return typeof value === 'object' ? value : [value]
}

/** Neither the order of properties nor that of a list's values makes a difference. */
export function samePredicate(a: IndexPredicate = {}, b: IndexPredicate = {}): boolean {
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && sameValues(a[name]!, b[name]!))
  )
}

/** Each list has a value once. */
function sameValues(a: IndexPredicate[string], b: IndexPredicate[string]): boolean {
  const values = valuesIn(a)
  const others = valuesIn(b)
  return values.length === others.length && values.every((value) => others.includes(value))
}

/** A predicate in words, such as `kind = "issue" and open = true`, or `kind in ("issue", "task")`. */
export function predicateText(on: IndexPredicate): string {
  return Object.entries(on)
    .map(([name, value]) => {
      const values = valuesIn(value).map((one) => JSON.stringify(one))
      return values.length === 1
        ? `${name} = ${values.join('')}`
        : `${name} in (${values.toSorted().join(', ')})`
    })
    .toSorted()
    .join(' and ')
}

/** One value as such, several as a list, so that a predicate is written in one way only. */
function parseValues(index: string, name: string, value: unknown): IndexPredicate[string] {
  if (!Array.isArray(value)) return parseValue(index, name, value)
  const values = Array.from(value as readonly unknown[], (one) => parseValue(index, name, one))
  const isList = values.length >= 2 && values.length <= MAX_VALUES && new Set(values).size === values.length
  return isList ? Object.freeze(values) : refuseValue(index, name, value)
}

function parseValue(index: string, name: string, value: unknown): PredicateValue {
  if (typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value === 'string' && value.length <= MAX_STRING && value.isWellFormed()) return value
  return refuseValue(index, name, value)
}

function refuseValue(index: string, name: string, value: unknown): never {
  return refuse(
    index,
    `needs one value, or a list of 2 to ${MAX_VALUES} different ones, each a boolean, a finite number or a well-formed string of up to ${MAX_STRING} characters for ${name} in on`,
    value,
  )
}
