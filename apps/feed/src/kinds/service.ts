import { defineKind, deriveId, typed, type Item } from 'looseleaf'

interface ServiceProperties {
  readonly person_id: string
  readonly source_id: string
  readonly added: Date
}

/** A source that a person publishes through: those who follow the person get its entries. */
export const Service = defineKind('service', {
  schema: typed<ServiceProperties>(),
  near: 'person_id',
  indexes: {
    byPerson: { by: [{ person_id: 'uuid' }, { added: 'time' }], include: ['source_id'] },
    bySource: { by: [{ source_id: 'uuid' }, { person_id: 'uuid' }], include: ['added'] },
  },
})

export type Service = Item<ServiceProperties>

/** Returns the id of a person's service. It is in the person's bucket. */
export function serviceId(personId: string, sourceId: string): string {
  return deriveId('service', [personId, sourceId], { near: personId })
}
