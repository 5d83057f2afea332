import { LooseleafError, describeKind } from './errors.ts'

/**
 * What a property may hold. A bigint stands between -2^63 and 2^64-1. Numbers may be NaN or infinite in a bag
 * (not in an index); -0 comes back as 0.
 */
export type PropertyValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Date
  | Uint8Array
  | readonly PropertyValue[]
  | { readonly [name: string]: PropertyValue | undefined }

/** The properties of an entity, without its id. A property that is undefined is the same as one that is absent. */
export type Bag = { [name: string]: PropertyValue | undefined }

/** Objects and arrays may be nested this deep. */
export const MAX_DEPTH = 64

const MIN_BIGINT = -(2n ** 63n)
const MAX_BIGINT = 2n ** 64n - 1n

/**
 * Refuses whatever a codec could not give back as it was: throws `BAD_PROPERTY` with the path to it.
 * Every codec calls this before it encodes.
 */
export function checkBag(bag: unknown): asserts bag is Bag {
  if (!isPlainObject(bag)) {
    throw new LooseleafError(
      'BAD_PROPERTY',
      `A bag of properties has to be a plain object; got ${describeKind(bag)}.`,
    )
  }
  checkObject(bag, [])
}

function checkObject(object: object, path: (string | number)[]): void {
  if (Object.getOwnPropertySymbols(object).length > 0) refuse(path, 'a property named by a symbol')
  for (const name of Object.keys(object)) {
    const value = (object as Record<string, unknown>)[name]
    if (value === undefined) continue
    path.push(name)
    if (name === '__proto__') refuse(path, 'a property of this name')
    if (!name.isWellFormed()) refuse(path, 'a property name with a lone surrogate')
    if (typeof value !== 'boolean' && value !== null) checkValue(value, path)
    path.pop()
  }
}

function checkValue(value: unknown, path: (string | number)[]): void {
  switch (typeof value) {
    case 'boolean':
    case 'number':
      return
    case 'string':
      if (!value.isWellFormed()) refuse(path, 'a string with a lone surrogate, which has no UTF-8 form')
      return
    case 'bigint':
      if (value < MIN_BIGINT || value > MAX_BIGINT) refuse(path, 'a bigint beyond 64 bits')
      return
    case 'object':
      break
    default:
      refuse(path, describeKind(value))
  }
  if (value === null || value instanceof Uint8Array) return
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) refuse(path, 'an invalid Date')
    return
  }
  if (path.length >= MAX_DEPTH)
    refuse(path.slice(0, 4), `values nested more than ${MAX_DEPTH} deep (or in a circle)`)
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      path.push(i)
      if (value[i] === undefined) refuse(path, 'nothing (undefined or a hole)')
      checkValue(value[i], path)
      path.pop()
    }
  } else if (isPlainObject(value)) {
    checkObject(value, path)
  } else {
    refuse(path, describeKind(value))
  }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function refuse(path: readonly (string | number)[], what: string): never {
  throw new LooseleafError(
    'BAD_PROPERTY',
    `${formatPath(path)} cannot be stored: it is ${what}. A property holds null, a boolean, a number, a bigint of 64 bits, a well-formed string, a Date, bytes, or arrays and plain objects of these.`,
  )
}

function formatPath(path: readonly (string | number)[]): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (/^[A-Za-z_$][\w$]*$/.test(step)) text += text === '' ? step : `.${step}`
    else text += `[${JSON.stringify(step.toWellFormed().slice(0, 60))}]`
  }
  return text === '' ? 'The bag' : text
}
