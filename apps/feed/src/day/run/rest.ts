import { readCleanerReport, readConsumers } from 'looseleaf'
import { setTimeout as sleep } from 'node:timers/promises'
import { DELIVER } from '../../delivery/start-deliveries.ts'
import type { Site } from '../../domain/site/site.ts'

/** Pause between two looks. */
const LOOK_MS = 250

/**
 * Waits until the deliveries and the cleaner have passed over everything that was stored before this call, and all indexes are swept. So a day
 * measures a site in use, and not the first pass over its seed.
 */
export async function untilAtRest({ store }: Pick<Site, 'store'>, signal: AbortSignal): Promise<void> {
  const begun = performance.now()
  for (;;) {
    const [consumers, cleaner] = await Promise.all([
      readConsumers(store, { signal }),
      readCleanerReport(store, { signal }),
    ])
    const elapsed = performance.now() - begun
    const delivered = consumers.find(({ name }) => name === DELIVER)?.shards ?? []
    const isRecent = ({ error, lagMs = Infinity }: { error: unknown; lagMs: number | undefined }): boolean =>
      error === undefined && lagMs < elapsed
    const isSwept = cleaner.indexes.every(
      ({ lastRun, inProgress }) => lastRun !== undefined && inProgress === undefined,
    )
    const isFollowed = cleaner.shards.every((shard) => shard.isFollowed && isRecent(shard))
    if (delivered.length > 0 && delivered.every(isRecent) && isSwept && isFollowed) return
    await sleep(LOOK_MS, undefined, { signal })
  }
}
