import { randomUUID } from 'node:crypto'
import { bucketRouter, deriveId, formatId } from 'looseleaf'
import { stripe, STRIPES } from './entry.ts'
import { isQueue, type LayoutName } from './indexes.ts'

/** Names an entry in calls. The user is for sides that shard by user. */
export interface Ref {
  readonly id: string
  readonly user: string
}

const FIRST = Date.UTC(2026, 0, 1)
const ids: string[] = []
const users: string[] = []

/** Returns the id of entry number `number`, the same in every process. It is a UUIDv7 with a distinct millisecond, so ids grow with the number. */
export function entryId(number: number): string {
  return (ids[number] ??= makeId(number))
}

export function userId(number: number): string {
  return (users[number] ??= deriveId('user', number))
}

/** Returns the ref of entry number `number`. Users take turns, so all have the same number of entries and every page is full. */
export function refOf(number: number, userCount: number): Ref {
  return { id: entryId(number), user: userId(number % userCount) }
}

/** Returns the same as `entryId` without caching it, for filling, which needs each id once. */
export function makeId(number: number): string {
  const time = (FIRST + number).toString(16).padStart(12, '0')
  const [a, b, c] = [mix(number, 1), mix(number, 2), mix(number, 3)]
  const bits = a + b + c
  return `${time.slice(0, 8)}-${time.slice(8)}-7${bits.slice(0, 3)}-a${bits.slice(3, 6)}-${bits.slice(6, 18)}`
}

/** Returns the digits of the bucket in an id of version 5 or 7. */
const bucketIn = (id: string): string => id.slice(15, 18)

let stripeBuckets: readonly string[] | undefined

/** Returns the digits of the bucket of each stripe. */
function bucketsOfStripes(): readonly string[] {
  if (stripeBuckets !== undefined) return stripeBuckets
  const { newIdNearKey } = bucketRouter({ shards: 1 })
  stripeBuckets = Array.from({ length: STRIPES }, (_, number) =>
    bucketIn(formatId(newIdNearKey!(Buffer.from(stripe(number))))),
  )
  return stripeBuckets
}

/** Returns the id of entry number `number` in a layout: that of `makeId`, but at the place of its user or stripe if the layout has places. */
export function placedId(number: number, userCount: number, layout: LayoutName): string {
  const id = makeId(number)
  if (isQueue(layout)) return withBucket(id, bucketsOfStripes()[number % STRIPES]!)
  if (layout === 'near' || layout === 'nearList') return withBucket(id, bucketIn(userId(number % userCount)))
  return id
}

const withBucket = (id: string, bucket: string): string => id.slice(0, 15) + bucket + id.slice(18)

/** Returns eight hexadecimal digits that look random, by the final mix of MurmurHash3. */
function mix(number: number, salt: number): string {
  let bits = Math.imul(number ^ (salt * 0x9e3779b9), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return ((bits ^ (bits >>> 16)) >>> 0).toString(16).padStart(8, '0')
}

/** Returns a new UUIDv7, for sides without an id function of their own. Increasing ids keep a primary key compact. */
export function newId(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
