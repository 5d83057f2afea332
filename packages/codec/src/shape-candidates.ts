import type { Bag, PropertyValue } from '@looseleaf/core'
import { isDate, isBytes } from '@looseleaf/core/internal'
import { MAX_SHAPE_BYTES, type Shape } from './shape.ts'

/** Bags with the same names before they get a shape. */
const BAGS_PER_SHAPE = 32
/** Lead of the usual nested object in votes over other objects at the same position, for it to be part of the shape. */
const MIN_VOTES = 8
/** Different name lists that are counted at a time. With more, all counts are dropped, because most of the names are data. */
const MAX_CANDIDATES = 512
/** Objects with more names have no shape. */
const MAX_NAMES = 200
const SAMPLED_ELEMENTS = 4
const MAX_LEVELS = 8

/** Values of one property in the bags so far. A majority vote (Boyer and Moore) finds the usual names of nested objects. */
interface Position {
  usual: Candidate | undefined
  votes: number
  hasArrays: boolean
  /** Whether there were objects, or arrays within arrays. Together with `hasArrays`, the meaning of an array would be ambiguous. */
  hasOthers: boolean
}

interface Candidate {
  readonly names: readonly string[]
  readonly positions: readonly Position[]
  bags: number
}

/** Counts bags without a shape, in bounded memory. */
export interface ShapeCandidates {
  /** Counts a bag. Returns the shape of the bags with these names once there were enough of them. */
  observe(bag: Bag, names: readonly string[]): Shape | undefined
}

export function createShapeCandidates(): ShapeCandidates {
  const candidates = new Map<string, Candidate>()
  return {
    observe(bag, names) {
      if (!mayHaveShape(names)) return undefined
      const key = JSON.stringify(names)
      let candidate = candidates.get(key)
      if (candidate === undefined) {
        if (candidates.size >= MAX_CANDIDATES) candidates.clear()
        candidates.set(key, (candidate = createCandidate(names)))
      }
      count(candidate, bag, 1)
      if (candidate.bags < BAGS_PER_SHAPE) return undefined
      candidates.delete(key)
      return shapeOf(candidate)
    },
  }
}

function createCandidate(names: readonly string[]): Candidate {
  return { names, positions: names.map(createPosition), bags: 0 }
}

function createPosition(): Position {
  return { usual: undefined, votes: 0, hasArrays: false, hasOthers: false }
}

function count(candidate: Candidate, bag: Bag, level: number): void {
  candidate.bags++
  if (level === MAX_LEVELS) return
  for (const [i, name] of candidate.names.entries()) {
    const position = candidate.positions[i] as Position
    const value = bag[name] as PropertyValue
    if (Array.isArray(value)) {
      position.hasArrays = true
      for (const element of value.slice(0, SAMPLED_ELEMENTS) as readonly PropertyValue[]) {
        if (Array.isArray(element)) position.hasOthers = true
        else if (isObject(element)) vote(position, element, level)
      }
    } else if (isObject(value)) {
      position.hasOthers = true
      vote(position, value, level)
    }
  }
}

function vote(position: Position, value: Bag, level: number): void {
  const names = Object.keys(value)
  if (!mayHaveShape(names)) return
  if (position.usual !== undefined && hasNames(names, position.usual.names)) position.votes++
  else if (position.votes > 0) position.votes--
  else {
    position.usual = createCandidate(names)
    position.votes = 1
  }
  if (position.usual !== undefined && hasNames(names, position.usual.names))
    count(position.usual, value, level + 1)
}

/** Tells whether the names fit a shape. Others need not be counted. */
function mayHaveShape(names: readonly string[]): boolean {
  if (names.length === 0 || names.length > MAX_NAMES) return false
  let length = 0
  for (let i = 0; i < names.length; i++) length += (names[i] as string).length
  return length <= MAX_SHAPE_BYTES
}

function shapeOf({ names, positions }: Candidate): Shape {
  const nested = positions.map(({ usual, votes, hasArrays, hasOthers }) =>
    usual === undefined || votes < MIN_VOTES || (hasArrays && hasOthers)
      ? undefined
      : { ...shapeOf(usual), inArray: hasArrays },
  )
  return { names, nested }
}

/** Tells whether a value of a `copyBag` copy is an object of properties. */
export function isObject(value: PropertyValue | undefined): value is Bag {
  if (typeof value !== 'object' || value === null) return false
  return !(Array.isArray(value) || isDate(value) || isBytes(value))
}

export function hasNames(names: readonly string[], others: readonly string[]): boolean {
  if (names.length !== others.length) return false
  for (let i = 0; i < names.length; i++) if (names[i] !== others[i]) return false
  return true
}
