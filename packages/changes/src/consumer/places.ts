import type { UpdatedPlace } from '@looseleaf/core/internal'
import { placeAt } from '@looseleaf/protocol/internal'

export function comparePlaces(a: UpdatedPlace, b: UpdatedPlace): number {
  return a.updated - b.updated || a.addedId - b.addedId
}

/** Returns the latest place; the beginning if the list is empty. */
export function latestOf(places: readonly UpdatedPlace[]): UpdatedPlace {
  return places.reduce((latest, place) => (comparePlaces(place, latest) > 0 ? place : latest), placeAt(0))
}

/** Returns the earliest place; one after all others if the list is empty. */
export function earliestOf(places: readonly UpdatedPlace[]): UpdatedPlace {
  const last = { updated: Infinity, addedId: 0 }
  return places.reduce((earliest, place) => (comparePlaces(place, earliest) < 0 ? place : earliest), last)
}
