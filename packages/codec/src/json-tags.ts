import type { Bag, PropertyValue } from '@looseleaf/core'
import { asBuffer, MAX_DEPTH, isDate, isBytes } from '@looseleaf/core/internal'
import { damaged } from './damaged.ts'

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/**
 * Converts a value of a `copyBag` copy to JSON. Four types without a JSON form become an object with one tag:
 * `{"$date":"2009-02-27T00:00:00.000Z"}`, `{"$bigint":"12"}`, `{"$bytes":"aGk="}` (base64), `{"$number":"NaN"}` (or `Infinity`,
 * `-Infinity`).
 *
 * A property name that begins with `$` gets another `$` in front, so that it never looks like a tag. A whole number beyond 2^53 - 1
 * is written with an exponent, because its digits would look like those of an exact integer.
 */
export function toJson(value: PropertyValue | Bag): Json {
  if (typeof value === 'number') return numberToJson(value)
  if (typeof value === 'bigint') return { $bigint: String(value) }
  if (typeof value !== 'object' || value === null) return value
  if (isDate(value)) return { $date: value.toISOString() }
  if (isBytes(value)) return { $bytes: asBuffer(value).toString('base64') }
  if (Array.isArray(value)) return (value as readonly PropertyValue[]).map(toJson)
  const object = value as { readonly [name: string]: PropertyValue }
  const json: { [name: string]: Json } = {}
  for (const name of Object.keys(object)) {
    json[name.startsWith('$') ? `$${name}` : name] = toJson(object[name] as PropertyValue)
  }
  return json
}

function numberToJson(value: number): Json {
  if (!Number.isFinite(value)) return { $number: String(value) }
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? rawJSON(value.toExponential()) : value
}

/** Returns a value that `JSON.stringify` writes as this text. In Node since 21, but not in its type declarations. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): Json }

/**
 * Reverses `toJson` for a result of `JSON.parse`. Throws `BODY_DAMAGED` for values that `toJson` never writes. Two differences are lost
 * in `JSON.parse` already: of a repeated name the last value remains, and integers beyond 2^53 are rounded.
 */
export function fromJson(json: unknown, depth: number): PropertyValue | Bag {
  if (typeof json === 'string') {
    if (!json.isWellFormed()) throw damaged('a text has a lone surrogate')
    return json
  }
  if (typeof json === 'number') {
    if (!Number.isFinite(json)) throw damaged('a number is beyond a double')
    return json + 0
  }
  if (typeof json !== 'object' || json === null) return json as boolean | null
  const names = Object.keys(json)
  const first = names[0]
  if (names.length === 1 && first !== undefined && isTag(first) && !Array.isArray(json)) {
    return readTag[first]((json as Record<string, unknown>)[first])
  }
  if (depth > MAX_DEPTH) throw damaged(`it is nested more than ${MAX_DEPTH} deep`)
  if (Array.isArray(json)) return json.map((element) => fromJson(element, depth + 1) as PropertyValue)
  const object: Bag = {}
  for (const name of names) {
    const value = fromJson((json as Record<string, unknown>)[name], depth + 1)
    object[readName(name)] = value as PropertyValue
  }
  return object
}

/** Longest name that a message shows. */
const SHOWN_LENGTH = 40

function readName(name: string): string {
  if (name === '__proto__' || !name.isWellFormed()) throw damaged('a property name is not allowed')
  if (!name.startsWith('$')) return name
  if (!name.startsWith('$$')) {
    const tag = JSON.stringify(name.slice(0, SHOWN_LENGTH))
    throw damaged(`it has the tag ${tag}, which no bag has. A name that begins with $ is written with $$`)
  }
  return name.slice(1)
}

type Tag = '$date' | '$bigint' | '$bytes' | '$number'

function isTag(name: string): name is Tag {
  return Object.hasOwn(readTag, name)
}

/** Readers of the tags. Each accepts exactly the texts that `toJson` writes. */
const readTag: Record<Tag, (text: unknown) => PropertyValue> = {
  $date(text) {
    const date = new Date(typeof text === 'string' ? text : NaN)
    if (Number.isNaN(date.getTime()) || date.toISOString() !== text) throw damaged('a time is not valid')
    return date
  },
  $bigint(text) {
    if (typeof text !== 'string' || !/^(0|-?[1-9]\d{0,19})$/.test(text))
      throw damaged('a bigint is not valid')
    const value = BigInt(text)
    if (value < -(2n ** 63n) || value >= 2n ** 64n) throw damaged('a bigint is beyond 64 bits')
    return value
  },
  $bytes(text) {
    if (typeof text !== 'string') throw damaged('bytes are not in base64')
    const bytes = Buffer.from(text, 'base64')
    if (bytes.toString('base64') !== text) throw damaged('bytes are not in base64')
    // Copied, because a small Buffer is a view of the shared pool.
    return new Uint8Array(bytes)
  },
  $number(text) {
    if (text === 'NaN' || text === 'Infinity' || text === '-Infinity') return Number(text)
    throw damaged('a number is not valid')
  },
}
