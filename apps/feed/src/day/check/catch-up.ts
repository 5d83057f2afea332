import { setTimeout as sleep } from 'node:timers/promises'
import { deliveryId } from '../../kinds/delivery.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { MadeEntry } from '../traffic/play.ts'

/** Pause between two looks. */
const LOOK_MS = 250

/**
 * Waits until all entries have come and are delivered, or until nothing has changed for so many milliseconds. A message whose form was
 * not answered counts if it exists. Returns the number of entries that it has given up.
 */
export async function catchUp(
  { entries, deliveries }: SiteData,
  made: readonly MadeEntry[],
  patienceMs: number,
): Promise<number> {
  let pending = made
  let changed = performance.now()
  for (;;) {
    const ids = pending.map(({ id }) => id)
    const [known, delivered] = await Promise.all([
      entries.getMany(ids),
      deliveries.getMany(ids.map(deliveryId)),
    ])
    const rest = pending.filter(
      ({ isAcknowledged }, i) => delivered[i] === undefined && (isAcknowledged || known[i] !== undefined),
    )
    if (rest.length < pending.length) changed = performance.now()
    pending = rest
    if (pending.length === 0 || performance.now() - changed > patienceMs) return pending.length
    await sleep(LOOK_MS)
  }
}
