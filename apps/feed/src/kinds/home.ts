import { defineKind, deriveId, type ItemOf } from 'looseleaf'
import { z } from 'zod'

/** Settings and markers of a person's home page. */
export const Home = defineKind('home', {
  schema: z.object({
    person_id: z.uuid(),
    order: z.enum(['newest', 'activity']),
    /** Items that were delivered at this time or before are read. */
    seen_before: z.date(),
  }),
  near: 'person_id',
})

export type Home = ItemOf<typeof Home>

/** Returns the id of a person's home. It is in the person's bucket. */
export function homeId(personId: string): string {
  return deriveId('home', personId, { near: personId })
}
