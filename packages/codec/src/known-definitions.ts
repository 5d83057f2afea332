import {
  copyBag,
  type Bag,
  type CodecDefinitions,
  type Definition,
  type PropertyValue,
  type StoredDefinition,
} from '@looseleaf/core'
import { createShapeCandidates, hasNames } from './shape-candidates.ts'
import { valuesOf } from './shape-values.ts'
import {
  DICTIONARY_KIND,
  definitionOf,
  MAX_DICTIONARY_BYTES,
  MAX_SHAPE_BYTES,
  namesOf,
  readShape,
  SHAPE_KIND,
  shapeDefinition,
  type Shape,
} from './shape.ts'
import { trainDictionary } from './train-dictionary.ts'

/** When a store has so many shapes, no more are wanted: its bags are of too many kinds, or their names are data. */
const MAX_SHAPES = 256

/** A shape as bodies refer to it. */
export interface KnownShape extends Shape {
  /** The number that the digits of its id are. */
  readonly number: number
}

/** A bag that is written by a shape. */
export interface ShapedBag {
  readonly shape: KnownShape
  readonly values: readonly PropertyValue[]
}

export interface KnownDictionary {
  readonly number: number
  readonly bytes: Uint8Array
}

/** The definitions of one store: what bodies are read by, and what they are written by. */
export interface KnownDefinitions extends CodecDefinitions {
  shape(number: number): KnownShape | undefined
  dictionary(number: number): KnownDictionary | undefined
  /** The shape to write this bag by, if one is confirmed and the bag fits it; takes note of a bag without one. */
  shapedBy(bag: Bag): ShapedBag | undefined
  /** The dictionary to write by: the last that was added of those that are confirmed. */
  readonly newest: KnownDictionary | undefined
}

export interface DefinitionOptions {
  readonly shapes: boolean
  readonly dictionary: boolean
  /** The bytes of a bag, or of its values by a shape, before they are compressed; those of the next take their place. */
  pack(bag: Bag, values: readonly PropertyValue[] | undefined): Uint8Array
  /** The numbers of what a body refers to; none for one that is damaged. */
  references(body: Uint8Array, isKnown: (number: number) => boolean): readonly number[]
}

/** One of the lists of names of which a shape is known or wanted. */
interface Listed {
  readonly names: readonly string[]
  /** What is written; undefined as long as none is confirmed. */
  shape: KnownShape | undefined
}

const NONE: readonly string[] = []

export function createKnownDefinitions(options: DefinitionOptions): KnownDefinitions {
  const stored = new Map<number, StoredDefinition>()
  const shapes = new Map<number, KnownShape>()
  const dictionaries = new Map<number, KnownDictionary>()
  /** By the number of names. */
  const listed = new Map<number, Listed[]>()
  const wanted = new Map<string, Definition>()
  const candidates = createShapeCandidates()
  let newest: KnownDictionary | undefined
  let newestAdded = 0

  const isKnown = (number: number): boolean => shapes.has(number) || dictionaries.has(number)

  function find(names: readonly string[]): Listed | undefined {
    const some = listed.get(names.length)
    if (some === undefined) return undefined
    for (let i = 0; i < some.length; i++) {
      const one = some[i] as Listed
      if (hasNames(names, one.names)) return one
    }
    return undefined
  }

  /** Lists of names that are kept, so as not to be asked for again, although their definition would be too long. */
  let tooLong = 0

  function list(names: readonly string[]): Listed {
    const found = find(names)
    if (found !== undefined) return found
    const added: Listed = { names, shape: undefined }
    const some = listed.get(names.length)
    if (some === undefined) listed.set(names.length, [added])
    else some.push(added)
    return added
  }

  function learn(definition: StoredDefinition): boolean {
    const { id, kind, bytes } = definition
    const number = Number.parseInt(id, 16)
    if (isKnown(number)) return sameBytes(stored.get(number)?.bytes, bytes)
    if (definitionOf(kind, bytes).id !== id) return false
    if (kind === DICTIONARY_KIND && bytes.length <= MAX_DICTIONARY_BYTES) {
      dictionaries.set(number, { number, bytes })
    } else {
      const shape = kind === SHAPE_KIND ? readShape(bytes) : undefined
      if (shape === undefined) return false
      shapes.set(number, { number, ...shape })
      list(shape.names)
    }
    stored.set(number, definition)
    return true
  }

  function shapeFor(bag: Bag): KnownShape | undefined {
    if (!options.shapes) return undefined
    const names = Object.keys(bag)
    const found = find(names)
    if (found !== undefined) return found.shape
    if (shapes.size + wanted.size + tooLong >= MAX_SHAPES) return undefined
    const shape = candidates.observe(bag, names)
    if (shape === undefined) return undefined
    const definition = shapeDefinition(shape)
    // Not asked for again in either case.
    list(shape.names)
    if (definition.bytes.length <= MAX_SHAPE_BYTES) wanted.set(definition.id, definition)
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
        const place = list(shape.names)
        if (place.shape === undefined || isBetter(shape, place.shape)) place.shape = shape
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
      return definitionOf(DICTIONARY_KIND, trainDictionary(samples, Math.min(bytes, MAX_DICTIONARY_BYTES)))
    },
    get newest() {
      return options.dictionary ? newest : undefined
    },
  }
}

export function idOf(number: number): string {
  return number.toString(16).padStart(12, '0')
}

/** Of two shapes with the same names the one that says more of what is within them; all processes choose the same. */
function isBetter(one: KnownShape, other: KnownShape): boolean {
  const more = namesOf(one) - namesOf(other)
  return more > 0 || (more === 0 && one.number < other.number)
}

function sameBytes(one: Uint8Array | undefined, other: Uint8Array): boolean {
  return one !== undefined && Buffer.compare(one, other) === 0
}
