import { MAX_DEPTH, MAX_VALUES, type Bag, type PropertyValue } from './bag.ts'
import { describeKind, LooseleafError, type ErrorCode } from './errors.ts'
import { isBytes, isPlainObject } from './kind-of-object.ts'
import { formatPath } from './property-path.ts'

/** The properties of an object in one of our own: without getters, and whoever gave it cannot change it. */
export type OwnProperties = Record<string, unknown>

/** How far a walk over a bag has come. */
export interface Walk {
  /** The first `depth` steps lead to the value that is looked at; those behind them are left from before. */
  readonly path: (string | number)[]
  depth: number
  values: number
}

const MIN_BIGINT = -(2n ** 63n)
const MAX_BIGINT = 2n ** 64n - 1n

/**
 * Takes the bag's properties, and does the rest of the walk. Whatever throws meanwhile, be it a getter of the bag, becomes
 * an error with the path to it.
 */
export function walkBag<T>(bag: unknown, rest: (own: OwnProperties, walk: Walk) => T): T {
  const walk: Walk = { path: [], depth: 0, values: 0 }
  try {
    if (!isPlainObject(bag)) {
      throw new Refusal(() => `A bag of properties has to be a plain object; got ${describeKind(bag)}.`)
    }
    return rest(takeProperties(bag, walk), walk)
  } catch (error) {
    const place = formatPath(walk.path.slice(0, walk.depth))
    if (error instanceof Refusal) throw new LooseleafError(error.code, error.explain(place))
    throw new LooseleafError('BAD_PROPERTY', `${place} cannot be stored: reading it throws an error.`, {
      cause: error,
    })
  }
}

/** Checks properties that are already our own, and puts copies in the place of the objects among them. */
export function copyProperties(own: OwnProperties, walk: Walk): Bag {
  if (Object.getOwnPropertySymbols(own).length > 0) throw cannot('a property named by a symbol')
  const place = walk.depth
  const names = Object.keys(own)
  let undefineds = 0
  // Far quicker than by `names`.
  for (const name in own) if (own[name] === undefined) undefineds++
  count(walk, names.length - undefineds)
  for (const name of names) {
    const value = own[name]
    if (value === undefined) continue
    const flaw = flawOfName(name) ?? flawOf(value)
    if (flaw !== undefined) {
      goTo(walk, place, name)
      throw cannot(flaw)
    }
    if (typeof value === 'object' && value !== null) {
      goTo(walk, place, name)
      own[name] = copyObject(value, walk)
    } else if (Number.isNaN(value)) own[name] = NaN
  }
  walk.depth = place
  return (undefineds === 0 ? own : withoutUndefined(own, names)) as Bag
}

function withoutUndefined(own: OwnProperties, names: readonly string[]): OwnProperties {
  const defined: OwnProperties = {}
  for (const name of names) if (own[name] !== undefined) defined[name] = own[name]
  return defined
}

function copyElements(own: unknown[], walk: Walk): readonly PropertyValue[] {
  const place = walk.depth
  count(walk, own.length)
  for (let i = 0; i < own.length; i++) {
    const element = own[i]
    if (typeof element === 'number') {
      if (Number.isNaN(element)) own[i] = NaN
      continue
    }
    const flaw = flawOf(element)
    if (flaw !== undefined) {
      goTo(walk, place, i)
      throw cannot(flaw)
    }
    if (typeof element === 'object' && element !== null) {
      goTo(walk, place, i)
      own[i] = copyObject(element, walk)
    }
  }
  walk.depth = place
  return own as readonly PropertyValue[]
}

function goTo(walk: Walk, place: number, step: string | number): void {
  walk.path[place] = step
  walk.depth = place + 1
}

function count(walk: Walk, more: number): void {
  walk.values += more
  if (walk.values > MAX_VALUES) throw tooMany(more)
}

function flawOfName(name: string): string | undefined {
  if (name === '__proto__') return 'a property of this name'
  return name.isWellFormed() ? undefined : 'a property name with a lone surrogate'
}

/** What is wrong with a value that is no object. */
function flawOf(value: unknown): string | undefined {
  switch (typeof value) {
    case 'object':
    case 'number':
    case 'boolean':
      return undefined
    case 'string':
      return value.isWellFormed() ? undefined : 'a string with a lone surrogate, which has no UTF-8 form'
    case 'bigint':
      return value >= MIN_BIGINT && value <= MAX_BIGINT ? undefined : 'a bigint beyond 64 bits'
    case 'undefined':
      return 'nothing (undefined or a hole)'
    default:
      return describeKind(value)
  }
}

function copyObject(object: object, walk: Walk): PropertyValue {
  if (Array.isArray(object)) {
    if (walk.depth >= MAX_DEPTH) throw tooDeep(walk)
    return copyElements(takeElements(object, walk), walk)
  }
  if (Object.getPrototypeOf(object) === Date.prototype) return copyDate(object)
  if (!isPlainObject(object)) return copyBytes(object) ?? copyDate(object)
  if (walk.depth >= MAX_DEPTH) throw tooDeep(walk)
  return copyProperties(takeProperties(object, walk), walk)
}

/** Each property once, getters too. */
function takeProperties(object: object, walk: Walk): OwnProperties {
  try {
    return { ...object }
  } catch (error) {
    goToThrower(object, walk)
    throw error
  }
}

/** What iterating over the array gives, so each element once; those of a large one are not even looked at. */
function takeElements(array: readonly unknown[], walk: Walk): unknown[] {
  if (array.length > MAX_VALUES) throw tooMany(array.length)
  try {
    return [...array]
  } catch (error) {
    goToThrower(array, walk)
    throw error
  }
}

/** Asks once more for one after the other, so that the walk stands at the one that throws. */
function goToThrower(object: object, walk: Walk): void {
  const place = walk.depth
  for (const name of Object.keys(object)) {
    goTo(walk, place, Array.isArray(object) ? Number(name) : name)
    Reflect.get(object, name)
  }
  walk.depth = place
}

function copyBytes(object: object): Uint8Array | undefined {
  if (!isBytes(object)) return undefined
  try {
    return new Uint8Array(object)
  } catch {
    throw cannot('bytes whose memory was given away (detached)')
  }
}

function copyDate(object: object): Date {
  let time: number
  try {
    time = Date.prototype.getTime.call(object)
  } catch {
    throw cannot(describeKind(object))
  }
  if (Number.isNaN(time)) throw cannot('an invalid Date')
  return new Date(time)
}

/** Why the walk does not go on from the place where it is. */
class Refusal extends Error {
  readonly explain: (place: string) => string
  readonly code: ErrorCode
  constructor(explain: (place: string) => string, code: ErrorCode = 'BAD_PROPERTY') {
    super()
    this.explain = explain
    this.code = code
  }
}

function cannot(what: string): Refusal {
  return new Refusal(
    (place) =>
      `${place} cannot be stored: it is ${what}. A property holds null, a boolean, a number, a bigint of 64 bits, a well-formed string, a Date, bytes, or arrays and plain objects of these.`,
  )
}

function tooDeep(walk: Walk): Refusal {
  walk.depth = 4
  return cannot(`values nested more than ${MAX_DEPTH} deep (or in a circle)`)
}

function tooMany(here: number): Refusal {
  return new Refusal(
    (place) =>
      `${place}, with ${here} values of its own, goes beyond the limit of ${MAX_VALUES} values a bag, in which an array or object counts as one, and so does everything in it. Store long lists as bytes or text, or in several entities.`,
    'BODY_TOO_LARGE',
  )
}
