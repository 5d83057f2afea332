import { damaged } from './damaged.ts'

/**
 * A property name that followed a certain sequence of names. Bags of one kind have the same names in the same order, so the next name
 * is nearly always one that has followed before. The reader then compares its bytes and creates no string. No path has a name
 * twice, so a learned name is never a repeated one.
 */
export interface LearnedName {
  readonly name: string
  /** The name in MessagePack, from its tag on. */
  readonly bytes: Uint8Array
  readonly before: LearnedName | undefined
  /** Length of the path to this name, including it. */
  readonly length: number
  readonly followers: LearnedName[]
}

/** Followers of a name. If there are more, they are data and replace each other. */
const MAX_FOLLOWERS = 8
/** Objects with more names, and longer names, are read without learning. */
const MAX_PATH = 64
const MAX_NAME_BYTES = 64
/** Bound of the memory, at some 300 bytes per name. When it is reached, all names are forgotten. */
const MAX_LEARNED = 4096

let learned = 0
let root = emptyPath()

function emptyPath(): LearnedName {
  return { name: '', bytes: new Uint8Array(0), before: undefined, length: 0, followers: [] }
}

/** Returns the empty path, with which every object begins. */
export function emptyNamePath(): LearnedName {
  return root
}

/** Returns the follower whose bytes are at this offset of the source; undefined if there is none. */
export function followerAt(path: LearnedName, source: Uint8Array, at: number): LearnedName | undefined {
  const { followers } = path
  for (let i = 0; i < followers.length; i++) {
    const follower = followers[i] as LearnedName
    const { bytes } = follower
    let matching = 0
    // Beyond the end of the source, bytes are undefined and never match.
    while (matching < bytes.length && source[at + matching] === bytes[matching]) matching++
    if (matching === bytes.length) return follower
  }
  return undefined
}

/** Adds a follower; undefined if its path or name is too long. Throws `BODY_DAMAGED` for a name that is on the path already. */
export function learnName(path: LearnedName, name: string, bytes: Uint8Array): LearnedName | undefined {
  for (let step: LearnedName | undefined = path; step !== undefined; step = step.before) {
    if (step.name === name && step.length > 0) throw damaged('a property name is repeated')
  }
  const length = path.length + 1
  if (length > MAX_PATH || bytes.length > MAX_NAME_BYTES) return undefined
  if (++learned > MAX_LEARNED) {
    learned = 1
    root = emptyPath()
  }
  const follower = { name, bytes: Uint8Array.from(bytes), before: path, length, followers: [] }
  const { followers } = path
  if (followers.length < MAX_FOLLOWERS) followers.push(follower)
  else followers[learned % MAX_FOLLOWERS] = follower
  return follower
}
