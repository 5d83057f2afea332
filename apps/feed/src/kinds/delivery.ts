import { defineKind, deriveId, typed, type Item } from 'looseleaf'

interface DeliveryProperties {
  readonly entry_id: string
  /** Number of people whose inbox got the entry. */
  readonly recipients: number
  readonly delivered: Date
  /** `bumped` of the entry when its inbox items got it last. */
  readonly bumped: Date
  /** Earliest time at which they get it again, so that a busy entry costs its writes once a minute. */
  readonly next_bump: Date
  /** The same time if the entry has a comment that its items do not know; otherwise absent. */
  readonly bump_due?: Date | undefined
}

/** Says that an entry has been delivered to all who followed its channel then. */
export const Delivery = defineKind('delivery', {
  schema: typed<DeliveryProperties>(),
  /** Finds the entries with comments that their inbox items do not know. */
  indexes: { byDue: { by: [{ bump_due: { type: 'time', nulls: 'skip' } }], shardOn: 'id' } },
})

export type Delivery = Item<DeliveryProperties>

/** Returns the id of an entry's delivery. It is in the entry's bucket. */
export function deliveryId(entryId: string): string {
  return deriveId('delivery', entryId, { near: entryId })
}
