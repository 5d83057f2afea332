import { defineKind, deriveId, typed, type Item } from 'looseleaf'

interface HomeProperties {
  readonly person_id: string
  readonly order: 'newest' | 'activity'
  /** Items that were delivered at this time or before are read. */
  readonly seen_before: Date
}

/** Settings and markers of a person's home page. */
export const Home = defineKind('home', { schema: typed<HomeProperties>() })

export type Home = Item<HomeProperties>

/** Returns the id of a person's home. It is in the person's bucket. */
export function homeId(personId: string): string {
  return deriveId('home', personId, { near: personId })
}
