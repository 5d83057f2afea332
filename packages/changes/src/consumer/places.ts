import type { UpdatedPlace } from '@looseleaf/core/internal'
import { placeAt } from '@looseleaf/protocol/internal'

export function comparePlaces(a: UpdatedPlace, b: UpdatedPlace): number {
  return a.updated - b.updated || a.addedId - b.addedId
}

/** Returns the latest place; the beginning if the list is empty. */
export function newestOf(places: readonly UpdatedPlace[]): UpdatedPlace {
  return places.reduce((newest, place) => (comparePlaces(place, newest) > 0 ? place : newest), placeAt(0))
}

/** Returns the earliest place; one after all others if the list is empty. */
export function oldestOf(places: readonly UpdatedPlace[]): UpdatedPlace {
  const last = { updated: Infinity, addedId: 0 }
  return places.reduce((oldest, place) => (comparePlaces(place, oldest) < 0 ? place : oldest), last)
}
