import { LooseleafError, type Bag } from '@looseleaf/core'
import type { IndexPredicate, PredicateValue } from '@looseleaf/core/internal'
import { isObject, refuse } from './bad-index.ts'
import { checkPropertyName } from './parse-property.ts'
import { propertyValue } from './property-value.ts'

const MAX_PROPERTIES = 4
const MAX_VALUES = 16
const MAX_STRING = 256

/** Parses the `on` of a program or a catalog. Throws `BAD_INDEX`. */
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

/** Returns a test for the values of `on`. Without `on` every bag passes. */
export function predicateOf(on: IndexPredicate = {}): (bag: Bag) => boolean {
  const tests = Object.entries(on).map(([name, value]) => ({ name, fits: fitting(value) }))
  return (bag) => tests.every(({ name, fits }) => fits(propertyValue(bag, name)))
}

function fitting(value: IndexPredicate[string]): (found: unknown) => boolean {
  const values: readonly unknown[] = valuesIn(value)
  return values.length === 1 ? (found) => found === values[0] : (found) => values.includes(found)
}

/** Returns the values of which a property needs one. */
export function valuesIn(value: IndexPredicate[string]): readonly PredicateValue[] {
  return typeof value === 'object' ? value : [value]
}

/** Compares two predicates. The order of properties, and of the values of a list, makes no difference. */
export function samePredicate(a: IndexPredicate = {}, b: IndexPredicate = {}): boolean {
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && sameValues(a[name]!, b[name]!))
  )
}

/** Compares two values or lists without repeats, in any order. */
function sameValues(a: IndexPredicate[string], b: IndexPredicate[string]): boolean {
  const values = valuesIn(a)
  const others = valuesIn(b)
  return values.length === others.length && values.every((value) => others.includes(value))
}

/** Describes a predicate for people: `kind = "issue" and open = true`, or `kind in ("issue", "task")`. */
export function predicateText(on: IndexPredicate): string {
  return Object.entries(on)
    .map(([name, value]) => {
      const values = valuesIn(value).map((each) => JSON.stringify(each))
      return values.length === 1
        ? `${name} = ${values.join('')}`
        : `${name} in (${values.toSorted().join(', ')})`
    })
    .toSorted()
    .join(' and ')
}

/** Parses a value or a list. A list of one value is refused, so that a predicate has only one form. */
function parseValues(index: string, name: string, value: unknown): IndexPredicate[string] {
  if (!Array.isArray(value)) return parseValue(index, name, value)
  const values = Array.from(value as readonly unknown[], (each) => parseValue(index, name, each))
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
