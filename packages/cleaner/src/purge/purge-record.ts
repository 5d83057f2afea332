import { countIn, countsIn, parseObject, toObject, type UpdatedPlace } from '@looseleaf/core/internal'

/** Saved progress of the purge of a shard. */
export interface PurgeRecord {
  /** All tombstones before this place are purged, except those that were passed over. */
  readonly place: UpdatedPlace
  /** Tombstones that were passed over, because their versions come from a clock that was ahead. */
  readonly passed: PassedTombstones | undefined
}

export interface PassedTombstones {
  /** Place before the first of them, to which the purge returns. */
  readonly from: UpdatedPlace
  /** Greatest version that the first round with such tombstones passed over. The purge returns once it is before the horizon. */
  readonly version: number
}

export function recordToText(record: PurgeRecord): string {
  return JSON.stringify(record)
}

/** Parses a stored record. Returns the record of a purge that has not begun for any other text. */
export function recordFromText(text: string): PurgeRecord {
  const value = parseObject(text) ?? {}
  const passed = toObject(value['passed'])
  return {
    place: placeIn(value, 'place'),
    passed: passed && { from: placeIn(passed, 'from'), version: countIn(passed, 'version') },
  }
}

function placeIn(value: Record<string, unknown>, name: string): UpdatedPlace {
  return countsIn(toObject(value[name]) ?? {}, ['updated', 'addedId'])
}
