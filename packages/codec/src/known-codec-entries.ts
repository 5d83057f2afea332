import { copyBag, type Bag, type PropertyValue } from '@looseleaf/core'
import {
  getOrInsert,
  type CodecEntries,
  type CodecEntry,
  type StoredCodecEntry,
} from '@looseleaf/core/internal'
import { createShapeCandidates, hasNames } from './shape-candidates.ts'
import { valuesOf } from './shape-values.ts'
import {
  DICTIONARY_KIND,
  codecEntryOf,
  MAX_DICTIONARY_BYTES,
  MAX_SHAPE_BYTES,
  countNames,
  readShape,
  SHAPE_KIND,
  shapeEntry,
  type Shape,
} from './shape.ts'
import { trainDictionary } from './train-dictionary.ts'

/** Largest number of shapes of a store. With more, its bags are of too many kinds, or their names are data. */
const MAX_SHAPES = 256

/** A shape with the number that bodies refer to. */
export interface KnownShape extends Shape {
  readonly number: number
}

export interface ShapedBag {
  readonly shape: KnownShape
  readonly values: readonly PropertyValue[]
}

export interface KnownDictionary {
  readonly number: number
  readonly bytes: Uint8Array
}

/** The codec entries of one store, for reading and for writing. */
export interface KnownCodecEntries extends CodecEntries {
  shape(number: number): KnownShape | undefined
  dictionary(number: number): KnownDictionary | undefined
  /** Returns this bag by a confirmed shape that it fits; undefined if there is none. Counts bags without a shape. */
  shapedBy(bag: Bag): ShapedBag | undefined
  /** The dictionary for writing: the newest confirmed one. */
  readonly newest: KnownDictionary | undefined
}

export interface CodecEntryOptions {
  readonly shapes: boolean
  readonly dictionary: boolean
  /** Packs a bag, or its values by a shape, without compression. The next call may overwrite the bytes. */
  pack(bag: Bag, values: readonly PropertyValue[] | undefined): Uint8Array
  /** Returns the numbers of the unknown entries that a body refers to; none for a damaged body. */
  references(body: Uint8Array, isKnown: (number: number) => boolean): readonly number[]
}

/** Names of bags with a known or wanted shape. */
interface NameList {
  readonly names: readonly string[]
  /** The shape for writing; undefined until one is confirmed. */
  shape: KnownShape | undefined
}

const NONE: readonly string[] = []

export function createKnownCodecEntries(options: CodecEntryOptions): KnownCodecEntries {
  const stored = new Map<number, StoredCodecEntry>()
  const shapes = new Map<number, KnownShape>()
  const dictionaries = new Map<number, KnownDictionary>()
  /** Name lists by the number of their names. */
  const nameLists = new Map<number, NameList[]>()
  const wanted = new Map<string, CodecEntry>()
  const candidates = createShapeCandidates()
  let newest: KnownDictionary | undefined
  let newestAdded = 0

  const isKnown = (number: number): boolean => shapes.has(number) || dictionaries.has(number)

  function findNameList(names: readonly string[]): NameList | undefined {
    const lists = nameLists.get(names.length)
    if (lists === undefined) return undefined
    for (let i = 0; i < lists.length; i++) {
      const list = lists[i] as NameList
      if (hasNames(names, list.names)) return list
    }
    return undefined
  }

  /** Number of name lists whose shape would be too long. They stay registered, so that their bags are not counted again. */
  let tooLong = 0

  function registerNames(names: readonly string[]): NameList {
    const found = findNameList(names)
    if (found !== undefined) return found
    const added: NameList = { names, shape: undefined }
    getOrInsert(nameLists, names.length, () => []).push(added)
    return added
  }

  function learn(entry: StoredCodecEntry): boolean {
    const { id, kind, bytes } = entry
    const number = Number.parseInt(id, 16)
    if (isKnown(number)) return sameBytes(stored.get(number)?.bytes, bytes)
    if (codecEntryOf(kind, bytes).id !== id) return false
    if (kind === DICTIONARY_KIND && bytes.length <= MAX_DICTIONARY_BYTES) {
      dictionaries.set(number, { number, bytes })
    } else {
      const shape = kind === SHAPE_KIND ? readShape(bytes) : undefined
      if (shape === undefined) return false
      shapes.set(number, { number, ...shape })
      registerNames(shape.names)
    }
    stored.set(number, entry)
    return true
  }

  function shapeFor(bag: Bag): KnownShape | undefined {
    if (!options.shapes) return undefined
    const names = Object.keys(bag)
    const nameList = findNameList(names)
    if (nameList !== undefined) return nameList.shape
    if (shapes.size + wanted.size + tooLong >= MAX_SHAPES) return undefined
    const shape = candidates.observe(bag, names)
    if (shape === undefined) return undefined
    const entry = shapeEntry(shape)
    registerNames(shape.names)
    if (entry.bytes.length <= MAX_SHAPE_BYTES) wanted.set(entry.id, entry)
    else tooLong++
    return undefined
  }

  function shapedBy(bag: Bag): ShapedBag | undefined {
    const shape = shapeFor(bag)
    const values = shape && valuesOf(bag, shape)
    return shape && values && { shape, values }
  }

  return {
    shapedBy,
    writes: options.shapes || options.dictionary,
    learn,
    shape: (number) => shapes.get(number),
    dictionary: (number) => dictionaries.get(number),
    known: () => [...stored.values()],
    wanted: () => (wanted.size === 0 ? [] : [...wanted.values()]),
    missing(body) {
      const unknown = options.references(body, isKnown)
      return unknown.length === 0 ? NONE : unknown.map(idOf)
    },
    confirm(id) {
      const number = Number.parseInt(id, 16)
      wanted.delete(id)
      const shape = shapes.get(number)
      if (shape !== undefined) {
        const nameList = registerNames(shape.names)
        if (nameList.shape === undefined || isBetter(shape, nameList.shape)) nameList.shape = shape
      }
      const dictionary = dictionaries.get(number)
      const added = stored.get(number)?.added ?? 0
      if (dictionary !== undefined && added >= newestAdded) {
        newest = dictionary
        newestAdded = added
      }
    },
    train(bags, bytes) {
      const samples = bags.map((bag) => {
        const properties = copyBag(bag)
        return Buffer.from(options.pack(properties, shapedBy(properties)?.values))
      })
      return codecEntryOf(DICTIONARY_KIND, trainDictionary(samples, Math.min(bytes, MAX_DICTIONARY_BYTES)))
    },
    get newest() {
      return options.dictionary ? newest : undefined
    },
  }
}

export function idOf(number: number): string {
  return number.toString(16).padStart(12, '0')
}

/** Prefers the shape with more nested names. The order is total, so that all processes choose the same shape. */
function isBetter(shape: KnownShape, other: KnownShape): boolean {
  const difference = countNames(shape) - countNames(other)
  return difference > 0 || (difference === 0 && shape.number < other.number)
}

function sameBytes(bytes: Uint8Array | undefined, other: Uint8Array): boolean {
  return bytes !== undefined && Buffer.compare(bytes, other) === 0
}
