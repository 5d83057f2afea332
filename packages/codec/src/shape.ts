import { createHash } from 'node:crypto'
import { MAX_DEPTH, type Definition } from '@looseleaf/core'

/** The names of an object in their order, and for some of them those of the objects that stand there. */
export interface Shape {
  readonly names: readonly string[]
  /** A shape, or undefined, for each of the names. */
  readonly within: readonly (HeldShape | undefined)[]
}

export interface HeldShape extends Shape {
  /** Whether the objects are the elements of an array that stands there; else one is the value itself. */
  readonly each: boolean
}

/** Bytes of an id, in a body. */
export const ID_BYTES = 6
export const SHAPE_KIND = 'shape'
export const DICTIONARY_KIND = 'dictionary'

/** Longer definitions are neither made nor taken. Of a dictionary zlib uses no more. */
export const MAX_SHAPE_BYTES: number = 16 * 1024
export const MAX_DICTIONARY_BYTES: number = 32 * 1024

/** The first bytes of the SHA-256 of the kind, a zero byte and the content. */
export function definitionOf(kind: string, bytes: Uint8Array): Definition {
  const id = createHash('sha256')
    .update(`${kind}\0`)
    .update(bytes)
    .digest('hex')
    .slice(0, 2 * ID_BYTES)
  return { id, kind, bytes }
}

/** As JSON: a list with a name, or a list of a name, `object` or `elements`, and the shape there, for each property. */
export function shapeDefinition(shape: Shape): Definition {
  return definitionOf(SHAPE_KIND, Buffer.from(JSON.stringify(toJson(shape))))
}

type ShapeJson = readonly (string | readonly [string, 'object' | 'elements', ShapeJson])[]

function toJson({ names, within }: Shape): ShapeJson {
  return names.map((name, i) => {
    const held = within[i]
    return held === undefined ? name : [name, held.each ? 'elements' : 'object', toJson(held)]
  })
}

/** The shape of a definition; undefined where it is none. */
export function readShape(bytes: Uint8Array): Shape | undefined {
  if (bytes.length > MAX_SHAPE_BYTES) return undefined
  try {
    return fromJson(JSON.parse(Buffer.from(bytes).toString()) as unknown, 1)
  } catch {
    return undefined
  }
}

function fromJson(json: unknown, depth: number): Shape | undefined {
  if (!Array.isArray(json) || depth > MAX_DEPTH) return undefined
  const names: string[] = []
  const within: (HeldShape | undefined)[] = []
  for (const item of json as readonly unknown[]) {
    const held = Array.isArray(item) ? heldFromJson(item as readonly unknown[], depth) : undefined
    const name: unknown = Array.isArray(item) ? item[0] : item
    if (!isBagName(name) || (Array.isArray(item) && held === undefined)) return undefined
    names.push(name)
    within.push(held)
  }
  return new Set(names).size === names.length ? { names, within } : undefined
}

function heldFromJson(item: readonly unknown[], depth: number): HeldShape | undefined {
  const [, where, inner] = item
  const shape = fromJson(inner, depth + 1)
  if (item.length !== 3 || shape === undefined || (where !== 'object' && where !== 'elements'))
    return undefined
  return { ...shape, each: where === 'elements' }
}

function isBagName(name: unknown): name is string {
  return typeof name === 'string' && name !== '__proto__' && name.isWellFormed()
}

/** How many names it has, nested ones included. */
export function namesOf({ names, within }: Shape): number {
  return within.reduce((sum, held) => sum + (held === undefined ? 0 : namesOf(held)), names.length)
}
