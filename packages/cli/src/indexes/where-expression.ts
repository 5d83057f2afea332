import { isId, LooseleafError, type IndexDefinitionData } from '@looseleaf/core'
import { shorten, type ColumnType, type IndexedProperty } from '@looseleaf/core/internal'
import type { Where } from '@looseleaf/index-engine'

type Scalar = string | number | bigint | boolean | Date

const OPERATORS = { '>=': 'gte', '<=': 'lte', '^=': 'startsWith', '=': 'eq', '>': 'gt', '<': 'lt' } as const
/** Follows the name of a property in a condition for entities without it. */
const IS_NULL = ' is null'
type Operator = keyof typeof OPERATORS | 'is null'

/**
 * Parses conditions such as `user_id=0192…` and `published>=2009-02-27`, with values of the property's type. `due is null`
 * matches entities without the property, if the index has rows for them. Two bounds of a property form a range, as in
 * `published>=2009-02-01 published<2009-03-01`. Several values of a property form a list, as in
 * `status=open status=waiting`. Throws `BAD_QUERY`.
 */
export function parseWhere(index: IndexDefinitionData, expressions: readonly string[]): Where {
  const values = new Map<string, (Scalar | null)[]>()
  const ranges = new Map<string, Readonly<Record<string, Scalar>>>()
  for (const expression of expressions) {
    const { property, operator, text } = split(index, expression)
    const { name } = property
    const range = ranges.get(name)
    const list = values.get(name)
    const isValue = operator === '=' || operator === 'is null'
    if (isValue ? range !== undefined : list !== undefined)
      throw bad(index, `${name} has a second condition beside "=".`)
    const value = operator === 'is null' ? null : parseValue(index, property, text)
    if (isValue || value === null) {
      values.set(name, [...(list ?? []), value])
      continue
    }
    const bound = OPERATORS[operator]
    const side = bound.slice(0, 1)
    if (range !== undefined && Object.keys(range).some((other) => other.startsWith(side))) {
      throw bad(index, `${name} has two ${side === 'g' ? 'lower' : 'upper'} bounds.`)
    }
    ranges.set(name, { ...range, [bound]: value })
  }
  const conditions = [...values].map(([name, list]) => [name, list.length === 1 ? list[0] : { in: list }])
  // The names and types come from a definition that is only known at run time.
  return Object.fromEntries([...conditions, ...ranges]) as Where
}

function split(
  index: IndexDefinitionData,
  expression: string,
): { property: IndexedProperty; operator: Operator; text: string } {
  // The longest name comes first: a name may be the beginning of another one, and may contain operators.
  const properties = index.properties.toSorted((a, b) => b.name.length - a.name.length)
  for (const property of properties) {
    if (!expression.startsWith(property.name)) continue
    const rest = expression.slice(property.name.length)
    // OPERATORS lists operators with two signs first.
    if (rest === IS_NULL) return { property, operator: 'is null', text: '' }
    const operator = (Object.keys(OPERATORS) as (keyof typeof OPERATORS)[]).find((sign) =>
      rest.startsWith(sign),
    )
    if (operator !== undefined) return { property, operator, text: rest.slice(operator.length) }
  }
  const names = index.properties.map(({ name }) => name).join(', ')
  const unknown = CONDITION.exec(expression)?.[1]
  if (unknown !== undefined) {
    throw new LooseleafError(
      'BAD_QUERY',
      `Index ${index.name} has no property ${quoted(unknown)}; its properties are ${names}.`,
    )
  }
  throw bad(
    index,
    `a condition is a property, one of = > >= < <= ^=, and a value, as in ${index.properties[0]?.name ?? 'property'}=value, or a property and "is null"; the properties of this index are ${names}. Got ${quoted(expression)}.`,
  )
}

/** Any property with an operator, or with `is null`. */
const CONDITION = /^([^=<>^]+?)(?: is null$|\^?=|[<>])/s

/** Quotes a part of the command line for a message. */
function quoted(text: string): string {
  return JSON.stringify(shorten(text, 60))
}

/** Parser of each type for values on a command line. Returns undefined for an invalid text. */
const PARSERS: Readonly<
  Record<ColumnType, { readonly expected: string; parse(text: string): Scalar | undefined }>
> = {
  uuid: {
    expected: 'a UUID such as 0192f0c1-7c1e-7abc-8def-0123456789ab',
    parse: (text) => (isId(text) ? text.toLowerCase() : undefined),
  },
  string: { expected: 'text', parse: (text) => text },
  integer: { expected: 'a whole number', parse: parseInteger },
  number: { expected: 'a number such as 1.5', parse: parseNumber },
  boolean: {
    expected: 'true or false',
    parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  },
  time: {
    expected:
      'a day such as 2009-02-27 (its beginning in UTC) or a time with a zone such as 2009-02-27T12:30:00Z',
    parse: parseTime,
  },
}

function parseValue(index: IndexDefinitionData, property: IndexedProperty, text: string): Scalar {
  const { expected, parse } = PARSERS[property.type]
  const value = parse(text)
  if (value === undefined)
    throw bad(
      index,
      `${property.name} is of type ${property.type}: ${expected} is expected; got ${quoted(text)}.`,
    )
  return value
}

function parseInteger(text: string): number | bigint | undefined {
  if (!/^-?\d{1,20}$/.test(text)) return undefined
  const value = BigInt(text)
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

function parseNumber(text: string): number | undefined {
  const value = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : NaN
  return Number.isFinite(value) ? value : undefined
}

const DAY = /^\d{4}-\d{2}-\d{2}$/
const DAY_LENGTH = 'yyyy-mm-dd'.length
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[-+]\d{2}:\d{2})$/

function parseTime(text: string): Date | undefined {
  if (!DAY.test(text) && !TIME.test(text)) return undefined
  const time = new Date(text)
  return isDay(text.slice(0, DAY_LENGTH)) && !Number.isNaN(time.getTime()) ? time : undefined
}

/** Tells whether the calendar has a day. A Date takes February 30 for March 2. */
function isDay(text: string): boolean {
  const day = new Date(text)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)
}

function bad(index: IndexDefinitionData, message: string): LooseleafError {
  return new LooseleafError('BAD_QUERY', `Index ${index.name}: ${message}`)
}
