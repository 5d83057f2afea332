import { consume, type ChangedItem, type ConsumerStatus } from 'looseleaf'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Site } from '../domain/site/site.ts'
import { deliveryId } from '../kinds/delivery.ts'
import { Entry } from '../kinds/entry.ts'
import type { SiteData } from '../kinds/site-data.ts'
import { bump, bumpDue } from './bump.ts'
import { deliver } from './deliver.ts'
import { relink } from './relink.ts'
import { hybrid, type Strategy } from './strategy.ts'

/** Name of the consumer, for `readConsumers` and `looseleaf consumer`. */
export const DELIVER = 'deliver'
/** Milliseconds between two looks for entries whose bump is due. */
const DUE_EVERY_MS = 5_000

export interface Deliveries {
  status(): ConsumerStatus
  /** Lets entries in delivery finish. Others are delivered after the next start. */
  stop(): Promise<void>
}

export interface DeliveriesOptions {
  /** Default: entries of channels with up to 1,000 followers are delivered. */
  readonly strategy?: Strategy
  /** Called with errors, which are retried. */
  readonly onError: (error: unknown) => void
  /** Returns the current time. Default: that of the machine. */
  readonly now?: () => Date
  /** Milliseconds until other processes deliver what a killed one was delivering. Default: 1,000. */
  readonly leaseMs?: number
}

/**
 * Starts to deliver entries to the home pages of followers. Any number of processes share the work, and one that is killed loses none of
 * it. A single consumer delivers, bumps and removes, because the changes of an entry are handled one at a time only within a consumer: a
 * comment that comes during a delivery is handled after it.
 */
export function startDeliveries(
  { store, data }: Pick<Site, 'store' | 'data'>,
  options: DeliveriesOptions,
): Deliveries {
  const { strategy = hybrid(), now = () => new Date(), leaseMs = 1_000, onError } = options
  const handler = (change: EntryChange): Promise<void> => handleChange(data, change, strategy, now)
  const consumer = consume(store, DELIVER, handler, {
    kinds: [Entry],
    from: 'beginning',
    leaseMs,
    onError: (error) => onError(error),
  })
  const stopped = new AbortController()
  const looking = lookForDue()

  async function lookForDue(): Promise<void> {
    while (!stopped.signal.aborted) {
      await bumpDue(data, now()).catch(onError)
      await sleep(DUE_EVERY_MS, undefined, { signal: stopped.signal }).catch(() => {})
    }
  }

  return {
    status: () => consumer.status(),
    async stop() {
      stopped.abort()
      await Promise.all([consumer.stop(), looking])
    },
  }
}

/** A change of an entry, or the deletion of any entity. */
export type EntryChange = Pick<ChangedItem<typeof Entry>, 'id' | 'item'>

/** Delivers, bumps or removes an entry. */
export async function handleChange(
  data: SiteData,
  { id, item: entry }: EntryChange,
  strategy: Strategy,
  now: () => Date,
): Promise<void> {
  if (entry === undefined) return forget(data, id)
  if (entry.removed !== undefined) return removeItems(data, id)
  const delivery = await data.deliveries.get(deliveryId(id))
  if (delivery !== undefined) {
    const linked = await relink(data, delivery, entry)
    return bump(data, linked, entry.bumped, now())
  }
  if (!entry.quiet) await deliver(data, entry, strategy, now)
}

/** Removes the items and the delivery of a deleted entry, which an import may bring again. A tombstone has no kind, so it may be of another entity. */
async function forget(data: SiteData, id: string): Promise<void> {
  const [delivery] = await Promise.all([data.deliveries.get(deliveryId(id)), removeItems(data, id)])
  if (delivery !== undefined) await data.deliveries.delete(delivery.id)
}

async function removeItems({ inbox }: SiteData, entry_id: string): Promise<void> {
  await inbox.byEntry.deleteWhere({ entry_id })
}
