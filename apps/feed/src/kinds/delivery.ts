import { defineKind, deriveId, typed, type Item } from 'looseleaf'

interface DeliveryProperties {
  readonly entry_id: string
  /** Number of people whose inbox has the entry. */
  readonly recipients: number
  readonly published: Date
  readonly delivered: Date
}

/** Says that an entry has been delivered to all who followed its channel then. */
export const Delivery = defineKind('delivery', { schema: typed<DeliveryProperties>() })

export type Delivery = Item<DeliveryProperties>

/** Returns the id of an entry's delivery. It is in the entry's bucket. */
export function deliveryId(entryId: string): string {
  return deriveId('delivery', entryId, { near: entryId })
}
