import { countIn, parseObject, toObject, type UpdatedPlace } from '@looseleaf/core'

/** How far the purge of a shard is, as it is saved. */
export interface PurgeRecord {
  /** All tombstones before it are gone, but for those that were passed over. */
  readonly place: UpdatedPlace
  /** Tombstones that were passed over, because their versions are of a clock that was ahead. */
  readonly passed: PassedTombstones | undefined
}

export interface PassedTombstones {
  /** Before the first of them. The purge comes back to this place. */
  readonly from: UpdatedPlace
  /** The greatest version that the call met which passed over the first of them. The purge comes back when its time is old enough. */
  readonly version: number
}

export function recordToText(record: PurgeRecord): string {
  return JSON.stringify(record)
}

/** The record of such a text; that of a purge that has not begun for any other. */
export function recordFromText(text: string): PurgeRecord {
  const value = parseObject(text) ?? {}
  const passed = toObject(value['passed'])
  return {
    place: placeIn(value, 'place'),
    passed: passed && { from: placeIn(passed, 'from'), version: countIn(passed, 'version') },
  }
}

function placeIn(value: Record<string, unknown>, name: string): UpdatedPlace {
  const place = toObject(value[name]) ?? {}
  return { updated: countIn(place, 'updated'), addedId: countIn(place, 'addedId') }
}
