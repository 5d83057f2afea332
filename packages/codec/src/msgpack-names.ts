import { damaged } from './damaged.ts'

/**
 * A name of an object, after those that stood before it. Bags of one kind have the same names in the same order, so the next
 * name is nearly always one that has followed before. The reader then compares its bytes and makes no string; and since no
 * path has a name twice, none of these can be repeated.
 */
export interface LearnedName {
  readonly name: string
  /** As MessagePack has it, from the tag on. */
  readonly bytes: Uint8Array
  readonly before: LearnedName | undefined
  /** How many names are on the path to here, this one included. */
  readonly place: number
  readonly followers: LearnedName[]
}

/** So many names may follow one. Where there are more they are data, and push each other out. */
const MAX_FOLLOWERS = 8
/** Objects of more names, and longer names, are read without learning. */
const MAX_PLACE = 64
const MAX_NAME_BYTES = 64
/** A learned name takes some 300 bytes. After so many all are forgotten: ever new names take no more memory. */
const MAX_LEARNED = 4096

let learned = 0
let first = startOfObject()

function startOfObject(): LearnedName {
  return { name: '', bytes: new Uint8Array(0), before: undefined, place: 0, followers: [] }
}

/** Where every object begins. */
export function firstOfObject(): LearnedName {
  return first
}

/** The follower whose bytes stand at `at`. */
export function followerAt(path: LearnedName, source: Uint8Array, at: number): LearnedName | undefined {
  const { followers } = path
  for (let i = 0; i < followers.length; i++) {
    const follower = followers[i] as LearnedName
    const { bytes } = follower
    let matching = 0
    // Beyond the end of the source nothing is equal.
    while (matching < bytes.length && source[at + matching] === bytes[matching]) matching++
    if (matching === bytes.length) return follower
  }
  return undefined
}

/** The new follower; undefined where that is not worth it. Throws `BODY_DAMAGED` for a name that is on the path already. */
export function learnName(path: LearnedName, name: string, bytes: Uint8Array): LearnedName | undefined {
  for (let step: LearnedName | undefined = path; step !== undefined; step = step.before) {
    if (step.name === name && step.place > 0) throw damaged('a property name is repeated')
  }
  const place = path.place + 1
  if (place > MAX_PLACE || bytes.length > MAX_NAME_BYTES) return undefined
  if (++learned > MAX_LEARNED) {
    learned = 1
    first = startOfObject()
  }
  const follower = { name, bytes: Uint8Array.from(bytes), before: path, place, followers: [] }
  const { followers } = path
  if (followers.length < MAX_FOLLOWERS) followers.push(follower)
  else followers[learned % MAX_FOLLOWERS] = follower
  return follower
}
