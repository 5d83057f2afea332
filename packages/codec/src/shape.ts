import { createHash } from 'node:crypto'
import { MAX_DEPTH, type Definition } from '@looseleaf/core'

/**
 * The names of an object in their order, and for some of them those of the objects that stand there: as the value, or as elements
 * of an array.
 */
export interface Shape {
  readonly names: readonly string[]
  /** A shape, or undefined, for each of the names. */
  readonly within: readonly (Shape | undefined)[]
}

/** Bytes of an id, in a body. */
export const ID_BYTES = 6
export const SHAPE_KIND = 'shape'
export const DICTIONARY_KIND = 'dictionary'

/** Comes before the values of an object whose names a shape has: the one tag that MessagePack never uses. */
export const SHAPED = 0xc1

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

/** As JSON: a list with a name, or a list of a name and the shape there, for each property. */
export function shapeDefinition(shape: Shape): Definition {
  return definitionOf(SHAPE_KIND, Buffer.from(JSON.stringify(toJson(shape))))
}

type ShapeJson = readonly (string | readonly [string, ShapeJson])[]

function toJson({ names, within }: Shape): ShapeJson {
  return names.map((name, i) => {
    const held = within[i]
    return held === undefined ? name : [name, toJson(held)]
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
  const within: (Shape | undefined)[] = []
  for (const item of json as readonly unknown[]) {
    const [name, inner, ...more] = Array.isArray(item) ? (item as unknown[]) : [item]
    const held = Array.isArray(item) ? fromJson(inner, depth + 1) : undefined
    if (!isBagName(name) || more.length > 0 || (Array.isArray(item) && held === undefined)) return undefined
    names.push(name)
    within.push(held)
  }
  return new Set(names).size === names.length ? { names, within } : undefined
}

function isBagName(name: unknown): name is string {
  return typeof name === 'string' && name !== '__proto__' && name.isWellFormed()
}

/** How many names it has, nested ones included. */
export function namesOf({ names, within }: Shape): number {
  return within.reduce((sum, held) => sum + (held === undefined ? 0 : namesOf(held)), names.length)
}
