import { createHash } from 'node:crypto'

/*
 * The contents of every state of every entity, computed from its number and the number of the state. Shares no code with the store, so that
 * answers, tables and changes can be compared with it.
 *
 * One writer at a time writes an entity: state 0, then state 1, and so on. A state is a bag, or the absence of the entity.
 */

/** Entities that share a group, a slot, a place, a tag, and the names that they compete for. */
export const IN_GROUP = 20
export const IN_SLOT = 25
export const IN_PLACE = 60
export const IN_TAG = 15
export const IN_SHADE = 40
export const IN_NAMES = 8
const PLACES = 3
export const SHADES = 4
const WANTED = 4
export const NAMES = IN_NAMES + WANTED

export interface State {
  readonly number: number
  readonly state: number
  readonly group: string
  readonly tags: string[]
  readonly slot: number
  readonly place: string
  readonly title: string
  readonly kind: string
  readonly name: string
}

/** Returns the id of an entity. Some ids end with zero bytes. */
export function idOf(number: number): string {
  const digits = createHash('sha256').update(`entity ${number}`).digest('hex').slice(0, 32)
  const hex = number % 100 === 7 ? `${digits.slice(0, 26)}000000` : digits
  return [8, 12, 16, 20, 32].map((end, i) => hex.slice([0, 8, 12, 16, 20][i], end)).join('-')
}

/** Returns a state of an entity; undefined if it is a deletion. Every fifth entity is deleted now and then. */
export function stateOf(number: number, state: number): State | undefined {
  if (isDeletion(number, state)) return undefined
  const draw = drawn(number, state)
  return {
    number,
    state,
    group: groupOf(Math.floor(number / IN_GROUP)),
    tags: [
      tagOf(Math.floor(number / IN_TAG)),
      shadeOf(Math.floor(number / IN_SHADE), state % SHADES),
      `own ${number}`,
    ],
    slot: Math.floor(number / IN_SLOT),
    place: placeOf(Math.floor(number / IN_PLACE), draw % PLACES),
    title: `state ${state} of ${number} ${'x'.repeat(draw % 300)}`,
    kind: draw % 2 === 0 ? 'page' : 'note',
    // Mostly a name that no other entity wants, else one of a few that eight entities want.
    name: nameOf(
      Math.floor(number / IN_NAMES),
      state > 0 && draw % 4 === 1 ? IN_NAMES + (Math.floor(draw / 8) % WANTED) : number % IN_NAMES,
    ),
  }
}

export function isDeletion(number: number, state: number): boolean {
  return number % 5 === 0 && state % 7 === 6
}

export const groupOf = (group: number): string => `group ${group}`
export const tagOf = (tag: number): string => `tag ${tag}`
export const shadeOf = (shade: number, value: number): string => `shade ${shade} ${value}`
export const placeOf = (place: number, value: number): string => `place ${place} ${value}`
export const nameOf = (cluster: number, value: number): string => `name ${cluster} ${value}`

/** Returns a number from 0 to 65,535 that looks drawn by chance. */
function drawn(number: number, state: number): number {
  let mixed = Math.imul(number + 1, 0x9e3779b1) ^ Math.imul(state + 1, 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39)
  return (mixed ^ (mixed >>> 15)) & 0xffff
}

/** A query by one value of an index. `base` is the number of the group, slot, place, tag or cluster of names. */
export interface Request {
  readonly index: 'by_group' | 'by_tag' | 'by_slot' | 'by_place' | 'by_page' | 'by_name'
  readonly base: number
  /** Value of a place, a shade or a name; undefined for values that never change. */
  readonly value?: number | undefined
}

/** Returns the numbers of the entities that may match in any state: from the first up to, not including, the second. */
export function candidates({ index, base, value }: Request): readonly [from: number, to: number] {
  const size = sizeOf(index, value)
  return [base * size, (base + 1) * size]
}

/** Returns how many entities have a base in common. */
export function sizeOf(index: Request['index'], value: number | undefined): number {
  switch (index) {
    case 'by_group':
    case 'by_page':
      return IN_GROUP
    case 'by_tag':
      return value === undefined ? IN_TAG : IN_SHADE
    case 'by_slot':
      return IN_SLOT
    case 'by_place':
      return IN_PLACE
    case 'by_name':
      return IN_NAMES
  }
}

export function matches({ index, base, value }: Request, state: State | undefined): boolean {
  if (state === undefined) return false
  switch (index) {
    case 'by_page':
      return state.kind === 'page'
    case 'by_place':
      return state.place === placeOf(base, value ?? 0)
    case 'by_name':
      return state.name === nameOf(base, value ?? 0)
    case 'by_tag':
      return value === undefined || state.tags.includes(shadeOf(base, value))
    case 'by_group':
    case 'by_slot':
      return true
  }
}
