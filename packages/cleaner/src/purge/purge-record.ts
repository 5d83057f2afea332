import { countIn, parseObject, toObject, type UpdatedPlace } from '@looseleaf/core'

/** How far the purge of a shard is, as it is saved. */
export interface PurgeRecord {
  /** All tombstones before it are gone, but for those that were passed over. */
  readonly place: UpdatedPlace
  /** Tombstones of a clock that was ahead, which are too new by their versions. */
  readonly passed: PassedTombstones | undefined
}

export interface PassedTombstones {
  /** Before the first of them. */
  readonly from: UpdatedPlace
  /** The greatest of their versions. */
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
