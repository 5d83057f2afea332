import { createHash } from 'node:crypto'
import { MAX_DEPTH, type CodecEntry } from '@looseleaf/core/internal'

/** Names of an object's properties in their order, with the shapes of nested objects. */
export interface Shape {
  readonly names: readonly string[]
  /** For each name the shape of the objects there, or undefined. */
  readonly nested: readonly (NestedShape | undefined)[]
}

export interface NestedShape extends Shape {
  /** Whether the objects are elements of an array; otherwise the value itself is the object. */
  readonly inArray: boolean
}

export const ID_BYTES = 6
export const SHAPE_KIND = 'shape'
export const DICTIONARY_KIND = 'dictionary'

/** Limits of codec entries in bytes. zlib uses at most this much of a dictionary. */
export const MAX_SHAPE_BYTES: number = 16 * 1024
export const MAX_DICTIONARY_BYTES: number = 32 * 1024

/** Creates a codec entry. Its id is the beginning of the SHA-256 of the kind, a zero byte and the content. */
export function codecEntryOf(kind: string, bytes: Uint8Array): CodecEntry {
  const id = createHash('sha256')
    .update(`${kind}\0`)
    .update(bytes)
    .digest('hex')
    .slice(0, 2 * ID_BYTES)
  return { id, kind, bytes }
}

/**
 * Creates the codec entry of a shape: a JSON list with an item per property, either its name or `[name, 'object' | 'elements', shape]`.
 */
export function shapeEntry(shape: Shape): CodecEntry {
  return codecEntryOf(SHAPE_KIND, Buffer.from(JSON.stringify(toJson(shape))))
}

type ShapeJson = readonly (string | readonly [string, 'object' | 'elements', ShapeJson])[]

function toJson({ names, nested }: Shape): ShapeJson {
  return names.map((name, i) => {
    const shape = nested[i]
    return shape === undefined ? name : [name, shape.inArray ? 'elements' : 'object', toJson(shape)]
  })
}

/** Parses the content of a shape; undefined if it is not valid. */
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
  const nested: (NestedShape | undefined)[] = []
  for (const item of json as readonly unknown[]) {
    const shape = Array.isArray(item) ? nestedFromJson(item as readonly unknown[], depth) : undefined
    const name: unknown = Array.isArray(item) ? item[0] : item
    if (!isBagName(name) || (Array.isArray(item) && shape === undefined)) return undefined
    names.push(name)
    nested.push(shape)
  }
  return new Set(names).size === names.length ? { names, nested } : undefined
}

function nestedFromJson(item: readonly unknown[], depth: number): NestedShape | undefined {
  const [, position, inner] = item
  const shape = fromJson(inner, depth + 1)
  if (item.length !== 3 || shape === undefined || (position !== 'object' && position !== 'elements'))
    return undefined
  return { ...shape, inArray: position === 'elements' }
}

function isBagName(name: unknown): name is string {
  return typeof name === 'string' && name !== '__proto__' && name.isWellFormed()
}

/** Counts the names of a shape, including nested ones. */
export function countNames({ names, nested }: Shape): number {
  return nested.reduce((sum, shape) => sum + (shape === undefined ? 0 : countNames(shape)), names.length)
}
