import { defineKind, deriveId, type ItemOf } from 'looseleaf'
import { z } from 'zod'

/** Largest number of sources that a person publishes through. */
export const MAX_SERVICES = 50

/** A source that a person publishes through: those who follow the person get its entries. */
export const Service = defineKind('service', {
  schema: z.object({
    person_id: z.uuid(),
    source_id: z.uuid(),
    added: z.date(),
  }),
  near: 'person_id',
  indexes: {
    byPerson: { by: [{ person_id: 'uuid' }, { added: 'time' }], include: ['source_id'] },
    bySource: { by: [{ source_id: 'uuid' }, { person_id: 'uuid' }], include: ['added'] },
  },
})

export type Service = ItemOf<typeof Service>

/** Returns the id of a person's service. It is in the person's bucket. */
export function serviceId(personId: string, sourceId: string): string {
  return deriveId('service', [personId, sourceId], { near: personId })
}
