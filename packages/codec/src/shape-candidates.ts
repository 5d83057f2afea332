import { isDate, isBytes, type Bag, type PropertyValue } from '@looseleaf/core'
import { MAX_SHAPE_BYTES, type Shape } from './shape.ts'

/** A shape is worth its place once so many bags have had it. */
const SEEN = 32
/** Of these, so many have to have had the same objects at a place, on balance, for these to be part of the shape. */
const AGREED = 8
/** Different lists of names that are counted at a time. When there are more all is forgotten, since most of them are data. */
const MAX_CANDIDATES = 512
/** Objects of more names have no shape. */
const MAX_NAMES = 200
/** So many elements of an array are looked at. */
const ELEMENTS = 4
const MAX_LEVELS = 8

/** What stands at one place of the bags so far: the list of names that a vote of the majority holds for the usual one. */
interface Place {
  usual: Candidate | undefined
  votes: number
  /** Whether arrays have stood here. */
  arrays: boolean
  /** Whether objects have; or arrays within arrays. With both of these, what an array stands for would not be known. */
  others: boolean
}

interface Candidate {
  readonly names: readonly string[]
  readonly places: readonly Place[]
  seen: number
}

/** Counts the bags that have no shape yet, in bounded memory. */
export interface ShapeCandidates {
  /** The shape of this bag and those before it with the same names, when it has just been seen often enough. */
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
      look(candidate, bag, 1)
      if (candidate.seen < SEEN) return undefined
      candidates.delete(key)
      return settle(candidate)
    },
  }
}

function createCandidate(names: readonly string[]): Candidate {
  return { names, places: names.map(createPlace), seen: 0 }
}

function createPlace(): Place {
  return { usual: undefined, votes: 0, arrays: false, others: false }
}

function look(candidate: Candidate, bag: Bag, level: number): void {
  candidate.seen++
  if (level === MAX_LEVELS) return
  for (const [i, name] of candidate.names.entries()) {
    const place = candidate.places[i] as Place
    const value = bag[name] as PropertyValue
    if (Array.isArray(value)) {
      place.arrays = true
      for (const element of value.slice(0, ELEMENTS) as readonly PropertyValue[]) {
        if (Array.isArray(element)) place.others = true
        else if (isObject(element)) vote(place, element, level)
      }
    } else if (isObject(value)) {
      place.others = true
      vote(place, value, level)
    }
  }
}

function vote(place: Place, value: Bag, level: number): void {
  const names = Object.keys(value)
  if (!mayHaveShape(names)) return
  if (place.usual !== undefined && hasNames(names, place.usual.names)) place.votes++
  else if (place.votes > 0) place.votes--
  else {
    place.usual = createCandidate(names)
    place.votes = 1
  }
  if (place.usual !== undefined && hasNames(names, place.usual.names)) look(place.usual, value, level + 1)
}

/** Names of more than a shape may have would be kept for nothing. */
function mayHaveShape(names: readonly string[]): boolean {
  if (names.length === 0 || names.length > MAX_NAMES) return false
  let length = 0
  for (let i = 0; i < names.length; i++) length += (names[i] as string).length
  return length <= MAX_SHAPE_BYTES
}

function settle({ names, places }: Candidate): Shape {
  const within = places.map(({ usual, votes, arrays, others }) =>
    usual === undefined || votes < AGREED || (arrays && others)
      ? undefined
      : { ...settle(usual), each: arrays },
  )
  return { names, within }
}

/** Whether a value of a bag that `copyBag` has made is an object of properties. */
export function isObject(value: PropertyValue | undefined): value is Bag {
  if (typeof value !== 'object' || value === null) return false
  return !(Array.isArray(value) || isDate(value) || isBytes(value))
}

export function hasNames(names: readonly string[], others: readonly string[]): boolean {
  if (names.length !== others.length) return false
  for (let i = 0; i < names.length; i++) if (names[i] !== others[i]) return false
  return true
}
