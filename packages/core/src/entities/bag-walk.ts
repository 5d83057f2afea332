import { MAX_DEPTH, MAX_VALUES, type Bag, type PropertyValue } from './bag.ts'
import { describeKind, LooseleafError, type ErrorCode } from '../errors/errors.ts'
import { isBytes, isPlainObject } from '../platform/kind-of-object.ts'
import { formatPath } from './property-path.ts'

/** A shallow copy of an object's properties: it has no getters, and no other code can change it. */
export type OwnProperties = Record<string, unknown>

/** State of a walk over a bag. */
export interface Walk {
  /** The first `depth` steps lead to the current value; later steps are stale. */
  readonly path: (string | number)[]
  depth: number
  values: number
}

const MIN_BIGINT = -(2n ** 63n)
const MAX_BIGINT = 2n ** 64n - 1n

/**
 * Copies the bag's properties and calls `rest` for the remaining walk. An error in either, such as that of a getter, becomes
 * a LooseleafError with the path to its value.
 */
export function walkBag<T>(bag: unknown, rest: (properties: OwnProperties, walk: Walk) => T): T {
  const walk: Walk = { path: [], depth: 0, values: 0 }
  try {
    if (!isPlainObject(bag)) {
      throw new Refusal(() => `A bag of properties has to be a plain object; got ${describeKind(bag)}.`)
    }
    return rest(takeProperties(bag, walk), walk)
  } catch (error) {
    const path = formatPath(walk.path.slice(0, walk.depth))
    if (error instanceof Refusal) throw new LooseleafError(error.code, error.explain(path))
    throw new LooseleafError('BAD_PROPERTY', `${path} cannot be stored: reading it throws an error.`, {
      cause: error,
    })
  }
}

/** Checks copied properties, and replaces the objects among them by copies. */
export function copyProperties(properties: OwnProperties, walk: Walk): Bag {
  if (Object.getOwnPropertySymbols(properties).length > 0) throw cannotStore('a property named by a symbol')
  const depth = walk.depth
  const names = Object.keys(properties)
  let undefineds = 0
  // `for … in` is far quicker here than a loop over `names`.
  for (const name in properties) if (properties[name] === undefined) undefineds++
  countValues(walk, names.length - undefineds)
  for (const name of names) {
    const value = properties[name]
    if (value === undefined) continue
    const flaw = flawOfName(name) ?? flawOf(value)
    if (flaw !== undefined) {
      goTo(walk, depth, name)
      throw cannotStore(flaw)
    }
    if (typeof value === 'object' && value !== null) {
      goTo(walk, depth, name)
      properties[name] = copyObject(value, walk)
    } else if (Number.isNaN(value)) properties[name] = NaN
  }
  walk.depth = depth
  return (undefineds === 0 ? properties : withoutUndefined(properties, names)) as Bag
}

function withoutUndefined(properties: OwnProperties, names: readonly string[]): OwnProperties {
  const defined: OwnProperties = {}
  for (const name of names) if (properties[name] !== undefined) defined[name] = properties[name]
  return defined
}

function copyElements(elements: unknown[], walk: Walk): readonly PropertyValue[] {
  const depth = walk.depth
  countValues(walk, elements.length)
  for (let i = 0; i < elements.length; i++) {
    const element = elements[i]
    if (typeof element === 'number') {
      if (Number.isNaN(element)) elements[i] = NaN
      continue
    }
    const flaw = flawOf(element)
    if (flaw !== undefined) {
      goTo(walk, depth, i)
      throw cannotStore(flaw)
    }
    if (typeof element === 'object' && element !== null) {
      goTo(walk, depth, i)
      elements[i] = copyObject(element, walk)
    }
  }
  walk.depth = depth
  return elements as readonly PropertyValue[]
}

function goTo(walk: Walk, depth: number, step: string | number): void {
  walk.path[depth] = step
  walk.depth = depth + 1
}

function countValues(walk: Walk, added: number): void {
  walk.values += added
  if (walk.values > MAX_VALUES) throw tooMany(added)
}

function flawOfName(name: string): string | undefined {
  if (name === '__proto__') return 'a property of this name'
  return name.isWellFormed() ? undefined : 'a property name with a lone surrogate'
}

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

/** Copies the properties, reading each once. */
function takeProperties(object: object, walk: Walk): OwnProperties {
  try {
    return { ...object }
  } catch (error) {
    goToThrower(object, walk)
    throw error
  }
}

/** Copies the elements by iteration, reading each once. An array that is too large is not read at all. */
function takeElements(array: readonly unknown[], walk: Walk): unknown[] {
  if (array.length > MAX_VALUES) throw tooMany(array.length)
  try {
    return [...array]
  } catch (error) {
    goToThrower(array, walk)
    throw error
  }
}

/** Reads the properties one by one again, so that the walk ends at the one that throws. */
function goToThrower(object: object, walk: Walk): void {
  const depth = walk.depth
  for (const name of Object.keys(object)) {
    goTo(walk, depth, Array.isArray(object) ? Number(name) : name)
    Reflect.get(object, name)
  }
  walk.depth = depth
}

function copyBytes(object: object): Uint8Array | undefined {
  if (!isBytes(object)) return undefined
  try {
    return new Uint8Array(object)
  } catch {
    throw cannotStore('bytes whose memory was given away (detached)')
  }
}

function copyDate(object: object): Date {
  let time: number
  try {
    time = Date.prototype.getTime.call(object)
  } catch {
    throw cannotStore(describeKind(object))
  }
  if (Number.isNaN(time)) throw cannotStore('an invalid Date')
  return new Date(time)
}

/** Ends the walk; `explain` makes the message from the path of the current value. */
class Refusal extends Error {
  readonly explain: (path: string) => string
  readonly code: ErrorCode
  constructor(explain: (path: string) => string, code: ErrorCode = 'BAD_PROPERTY') {
    super()
    this.explain = explain
    this.code = code
  }
}

function cannotStore(flaw: string): Refusal {
  return new Refusal(
    (path) =>
      `${path} cannot be stored: it is ${flaw}. A property holds null, a boolean, a number, a bigint of 64 bits, a well-formed string, a Date, bytes, or arrays and plain objects of these.`,
  )
}

function tooDeep(walk: Walk): Refusal {
  walk.depth = 4
  return cannotStore(`values nested more than ${MAX_DEPTH} deep (or in a circle)`)
}

function tooMany(values: number): Refusal {
  return new Refusal(
    (path) =>
      `${path}, with ${values} values of its own, exceeds the limit of ${MAX_VALUES} values per bag. An array or object counts as one, plus everything in it. Store long lists as bytes or text, or in several entities.`,
    'BODY_TOO_LARGE',
  )
}
