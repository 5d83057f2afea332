import { MAX_DEPTH, type Bag, type PropertyValue, isDate, isBytes } from '@looseleaf/core'
import { damaged } from './damaged.ts'

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/**
 * A value as JSON has it. Four kinds that it has no word for become an object of one tag:
 * `{"$date":"2009-02-27T00:00:00.000Z"}`, `{"$bigint":"12"}`, `{"$bytes":"aGk="}` (base64), `{"$number":"NaN"}` (or `Infinity`,
 * `-Infinity`). A property name that begins with `$` gets one more in front, so that none looks like a tag. A whole number
 * beyond 2^53 - 1 has an exponent, so that nobody takes its digits for those of an exact integer.
 * The value is of a bag that `copyBag` has made.
 */
export function toJson(value: PropertyValue | Bag): Json {
  if (typeof value === 'number') return numberToJson(value)
  if (typeof value === 'bigint') return { $bigint: String(value) }
  if (typeof value !== 'object' || value === null) return value
  if (isDate(value)) return { $date: value.toISOString() }
  if (isBytes(value)) {
    return { $bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') }
  }
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

/** Part of Node since 21, but not yet of its type declaration: a value that `JSON.stringify` writes as this text. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): Json }

/**
 * The reverse of `toJson` for what `JSON.parse` gave; throws `BODY_DAMAGED` for what `toJson` never makes, but for what
 * `JSON.parse` itself has made of it: of a name that is repeated the last value is there, and integers beyond 2^53 are rounded.
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
    const held = fromJson((json as Record<string, unknown>)[name], depth + 1)
    object[readName(name)] = held as PropertyValue
  }
  return object
}

function readName(name: string): string {
  if (name === '__proto__' || !name.isWellFormed()) throw damaged('a property name is not allowed')
  if (!name.startsWith('$')) return name
  if (!name.startsWith('$$')) throw damaged('it holds a tag that no bag has')
  return name.slice(1)
}

type Tag = '$date' | '$bigint' | '$bytes' | '$number'

function isTag(name: string): name is Tag {
  return Object.hasOwn(readTag, name)
}

/** Each accepts exactly the texts that `toJson` writes. */
const readTag: Record<Tag, (text: unknown) => PropertyValue> = {
  $date(text) {
    const date = new Date(typeof text === 'string' ? text : NaN)
    if (Number.isNaN(date.getTime()) || date.toISOString() !== text) throw damaged('a time is not one')
    return date
  },
  $bigint(text) {
    if (typeof text !== 'string' || !/^(0|-?[1-9]\d{0,19})$/.test(text)) throw damaged('a bigint is not one')
    const value = BigInt(text)
    if (value < -(2n ** 63n) || value >= 2n ** 64n) throw damaged('a bigint is beyond 64 bits')
    return value
  },
  $bytes(text) {
    if (typeof text !== 'string') throw damaged('bytes are not in base64')
    const bytes = Buffer.from(text, 'base64')
    if (bytes.toString('base64') !== text) throw damaged('bytes are not in base64')
    // A copy of its own: a small Buffer is a view of memory that is shared with others.
    return new Uint8Array(bytes)
  },
  $number(text) {
    if (text === 'NaN' || text === 'Infinity' || text === '-Infinity') return Number(text)
    throw damaged('a number is not one')
  },
}
