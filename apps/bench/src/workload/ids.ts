import { randomUUID } from 'node:crypto'
import { deriveId } from 'looseleaf'

/** How a call names an entry: by its id, and, for sides that shard by it, its user. */
export interface Ref {
  readonly id: string
  readonly user: string
}

const FIRST = Date.UTC(2026, 0, 1)
const ids: string[] = []
const users: string[] = []

/** The id of entry number `number`, in every process the same: a UUIDv7 of its own millisecond, so that ids grow with the number. */
export function entryId(number: number): string {
  return (ids[number] ??= makeId(number))
}

export function userId(number: number): string {
  return (users[number] ??= deriveId('user', number))
}

/** Users take turns, so that all have the same number of entries and every page is full. */
export function refOf(number: number, userCount: number): Ref {
  return { id: entryId(number), user: userId(number % userCount) }
}

/** As `entryId`, and not kept: whoever fills needs each once. */
export function makeId(number: number): string {
  const time = (FIRST + number).toString(16).padStart(12, '0')
  const [a, b, c] = [mix(number, 1), mix(number, 2), mix(number, 3)]
  const bits = a + b + c
  return `${time.slice(0, 8)}-${time.slice(8)}-7${bits.slice(0, 3)}-a${bits.slice(3, 6)}-${bits.slice(6, 18)}`
}

/** Eight hexadecimal digits that look random: the end of MurmurHash3. */
function mix(number: number, salt: number): string {
  let bits = Math.imul(number ^ (salt * 0x9e3779b9), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return ((bits ^ (bits >>> 16)) >>> 0).toString(16).padStart(8, '0')
}

/** Of a side that makes its ids itself: a UUIDv7, which keeps a primary key compact. */
export function newId(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
